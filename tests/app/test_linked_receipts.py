"""Linked receipts: more checks than one receipt holds, and what several of them prove together."""

import copy
import json
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.app.answer_contexts import ConstantFeed, answer_context
from tests.checks.builders import AT, PYTHON, RESULT
from tests.cli.running import run
from tests.repository import ROOT
from tests.seal.samples import KEY, OTHER_KEY
from tests.web.service_client import Service, make_project

from affidavit.app import keys as key_settings
from affidavit.app.answer import (
    answer_linked,
    answer_request,
    composed_answer,
    linked_document,
    request_from_wire,
)
from affidavit.app.verify import ReceiptInput, ReceiptVerifier, linked_sets_of
from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit, worst_exit
from affidavit.seal.keys import SigningKey, trusted_keys_from
from affidavit.seal.receipts import ReceiptTrust, seal_receipt

NOW = datetime.fromisoformat(AT)
BOTH_KEYS = trusted_keys_from(
    [{key.public.id: key.public.text} for key in (KEY, OTHER_KEY)],
)
Receipts = list[dict[str, Any]]


def checks(count: int) -> list[Any]:
    return [{**PYTHON, "id": f"c{number}"} for number in range(1, count + 1)]


def linked(count: int = 45, found: Any = RESULT, key: SigningKey = KEY) -> Receipts:
    request = request_from_wire({"checks": checks(count), "split": True})
    context = answer_context(software_version=ConstantFeed(found))
    return list(answer_linked(request, context, key))


def signed_again(receipt: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a receipt of the same issuer with other members."""
    kept = {key: receipt[key] for key in receipt if key not in ("receipt_id", "signature")}
    return seal_receipt(copy.deepcopy({**kept, **changes}), KEY)


def verified(receipts: Receipts) -> tuple[Exit, list[str | None], str]:
    """Return the exit code, the code of each set, and the details."""
    verifier = ReceiptVerifier(ReceiptTrust(BOTH_KEYS), NOW)
    outcomes = verifier(
        [ReceiptInput(f"{number}.json", raw=sorted_compact(r)) for number, r in enumerate(receipts)]
    )
    sets = linked_sets_of(outcomes)
    exit = worst_exit(each.exit for each in (*outcomes, *sets))
    return exit, [each.code for each in sets], "; ".join(each.detail for each in sets)


def test_every_check_is_made_and_every_receipt_states_all_of_them() -> None:
    receipts = linked()
    assert [len(each["checks"]) for each in receipts] == [20, 20, 5]
    assert [each["linked"]["number"] for each in receipts] == [1, 2, 3]
    assert len({tuple(each["linked"]["checks_sha256"]) for each in receipts}) == 1
    assert [each["not_checked"] for each in receipts] == [[], [], []]
    for before, after in pairwise(receipts):
        assert before["receipt_id"] == f"ans_{after['linked']['previous_sha256'][:16]}"
    assert verified(receipts) == (Exit.YES, [None], "all 3 are here, none was exchanged")


def test_without_split_checks_over_the_cap_stay_listed_and_ask_nothing() -> None:
    feed = ConstantFeed(RESULT)
    wanted: list[Any] = [
        {**PYTHON, "id": f"c{number}", "args": {"product": f"p{number}"}} for number in range(22)
    ]
    context = answer_context(software_version=feed)
    receipt = answer_request(request_from_wire(wanted), context, KEY)
    assert receipt["not_checked"] == ["c20", "c21"]
    assert len(feed.asked) == 20
    assert "linked" not in receipt


def test_twenty_checks_need_no_link() -> None:
    (receipt,) = linked(20)
    assert "linked" not in receipt
    assert verified([receipt]) == (Exit.YES, [], "")


def test_more_than_a_hundred_checks_are_refused() -> None:
    with pytest.raises(AffidavitError, match="there are 101 checks, and linked receipts hold 100"):
        linked(101)


def test_together_they_have_one_verdict() -> None:
    optional: list[Any] = [{**check, "required": False} for check in checks(40)[20:]]
    request = request_from_wire({"checks": checks(20) + optional, "split": True})
    context = answer_context(software_version=ConstantFeed(RESULT))
    receipts = list(answer_linked(request, context, KEY))
    assert [each["verdict"] for each in receipts] == ["supported", "insufficient_evidence"]
    together = composed_answer(receipts)
    assert (together["verdict"], together["confidence"]) == ("supported", 0.8)
    assert len(together["checks"]) == 40


OTHER_RESULT = {"results": [{"latest_version": "3.1"}]}


def other_checks(receipts: Receipts) -> Receipts:
    swapped = {**receipts[1]["linked"], "number": 3}
    return [*receipts[:2], signed_again(receipts[1], linked=swapped)]


SETS: dict[str, tuple[Callable[[Receipts], Receipts], Exit, list[str | None], str]] = {
    "one alone says that there are others": (
        lambda receipts: receipts[:1],
        Exit.UNKNOWN,
        ["AF392"],
        "of 3 linked receipts, these are missing or not valid: number 2, number 3",
    ),
    "the last is missing": (lambda receipts: receipts[:2], Exit.UNKNOWN, ["AF392"], "number 3"),
    "the middle is missing": (
        lambda receipts: [receipts[0], receipts[2]],
        Exit.UNKNOWN,
        ["AF392"],
        "number 2",
    ),
    "the order of files is no matter": (lambda receipts: receipts[::-1], Exit.YES, [None], "all 3"),
    "a copy is no other receipt": (lambda receipts: receipts + receipts, Exit.YES, [None], "all 3"),
    "two sets are told apart": (
        lambda receipts: receipts + linked(25),
        Exit.YES,
        [None, None],
        "all 2",
    ),
    "a part of another run": (
        lambda receipts: [receipts[0], linked(found=OTHER_RESULT)[1], receipts[2]],
        Exit.TAMPERED,
        ["AF393"],
        "number 2 was issued after another number 1",
    ),
    "the last of another run": (
        lambda receipts: [*receipts[:2], linked(found=OTHER_RESULT)[2]],
        Exit.TAMPERED,
        ["AF393"],
        "number 3 was issued after another number 2",
    ),
    "two that claim one place": (
        lambda receipts: [*receipts, linked(found=OTHER_RESULT)[0]],
        Exit.TAMPERED,
        ["AF393"],
        "are both number 1",
    ),
    "the checks of another place": (other_checks, Exit.TAMPERED, ["AF392"], "number 3"),
    "a changed receipt is not counted": (
        lambda receipts: [*receipts[:2], {**receipts[2], "confidence": 0.1}],
        Exit.TAMPERED,
        ["AF392"],
        "number 3",
    ),
    "another key does not complete the set": (
        lambda receipts: [*receipts[:2], linked(key=OTHER_KEY)[2]],
        Exit.UNKNOWN,
        ["AF392", "AF392"],
        "number 3",
    ),
}


@pytest.mark.parametrize(("change", "exit", "codes", "detail"), SETS.values(), ids=SETS.keys())
def test_sets(
    change: Callable[[Receipts], Receipts], exit: Exit, codes: list[str | None], detail: str
) -> None:
    found = verified(change(linked()))
    assert found[:2] == (exit, codes)
    assert detail in found[2]


UNREADABLE_LINKS = {
    "a number beyond the last": {"number": 4},
    "the first after another": {"number": 1},
    "no digest of a digest": {"checks_sha256": ["x", "y", "z"]},
}


@pytest.mark.parametrize("changes", UNREADABLE_LINKS.values(), ids=UNREADABLE_LINKS.keys())
def test_a_link_of_another_shape_cannot_be_replayed(changes: dict[str, Any]) -> None:
    receipt = linked()[1]
    changed = signed_again(receipt, linked={**receipt["linked"], **changes})
    assert verified([changed]) == (Exit.UNKNOWN, [], "")


def test_a_member_of_another_issuer_with_this_name_is_no_link() -> None:
    context = answer_context()
    refusal = answer_request(request_from_wire({"question": "Who made it?"}), context, KEY)
    for other in ("yes", {"to": "another"}):
        assert verified([signed_again(refusal, linked=other)]) == (Exit.YES, [], "")


# Through the command line and the service.


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(key_settings, "random_bytes", lambda size: bytes(range(size)))
    monkeypatch.delenv(key_settings.PASSPHRASE_VARIABLE, raising=False)
    assert run("keys", "new", "--project", str(tmp_path)).exit_code == 0
    (tmp_path / "data.json").write_text('{"price": 9}')
    (tmp_path / "affidavit.toml").write_text(
        '[tools.prices]\nsources = [{ kind = "file", path = "data.json" }]\n'
    )
    many = [
        {"id": f"c{number}", "tool": "prices", "expect": {"path": "price", "op": "lt", "value": 10}}
        for number in range(30)
    ]
    (tmp_path / "checks.json").write_text(json.dumps(many))
    return tmp_path


def ask(project: Path, *arguments: str) -> Any:
    return run("answer", str(project / "checks.json"), "--project", str(project), *arguments)


def verify(project: Path, *paths: Path) -> Any:
    return run("verify", *map(str, paths), "--project", str(project))


def test_one_file_with_all_of_them(project: Path) -> None:
    out = project / "receipts.json"
    answered = ask(project, "--split", "-o", str(out))
    assert answered.exit_code == 0
    assert "Verdict: supported" in answered.stdout
    assert f"Linked receipts: 2\nReceipt: {out}\n" in answered.stdout
    found = verify(project, out)
    assert found.exit_code == 0
    assert "Linked receipts: all 2 are here, none was exchanged (ans_" in found.stdout
    assert f"{out}, receipt 2" in found.stdout
    document = json.loads(out.read_bytes())
    out.write_text(json.dumps({"receipts": document["receipts"][1:]}))
    found = verify(project, out)
    assert found.exit_code == 3
    assert "Verified: " in found.stdout
    assert "AF392 of 2 linked receipts, these are missing or not valid: number 1" in found.stdout
    assert "Next: name all of them" in found.stdout


def test_a_file_for_each_in_the_project(project: Path) -> None:
    assert ask(project, "--split").exit_code == 0
    kept = sorted((project / ".affidavit" / "receipts").glob("*"))
    assert len(kept) == 2
    assert verify(project, kept[0].parent).exit_code == 0
    report = json.loads(run("verify", str(kept[0]), "--project", str(project), "--json").stdout)
    assert (report["valid"], report["exit"], report["receipts"][0]["valid"]) == (False, 3, True)
    assert report["linked"][0]["code"] == "AF392"


def test_for_machines(project: Path) -> None:
    receipts = json.loads(ask(project, "--split", "--json").stdout)["receipts"]
    assert [each["linked"]["number"] for each in receipts] == [1, 2]


USAGE = {
    "a question is one receipt": ("--question", "Why?"),
    "an assertion is one check": ("--file", "data.json", "price < 1"),
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE.keys())
def test_split_is_for_checks(arguments: tuple[str, ...]) -> None:
    result = run("answer", "--split", *arguments)
    assert (result.exit_code, "--split is for checks" in result.stderr) == (2, True)


DOCUMENTS = {
    "nothing in it": b'{"receipts": []}',
    "something beside it": b'{"receipts": [{}], "x": 1}',
    "no list": b'{"receipts": 1}',
    "more than are ever linked": json.dumps({"receipts": [{}] * 6}).encode(),
    "no receipt in it": b'{"receipts": [{}]}',
}


@pytest.mark.parametrize("raw", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_other_documents_are_not_readable(project: Path, raw: bytes) -> None:
    (project / "x.json").write_bytes(raw)
    found = verify(project, project / "x.json")
    assert (found.exit_code, found.stderr[:5]) == (2, "AF320")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    return Service(make_project(tmp_path_factory.mktemp("served")))


def test_the_service_splits_and_verifies(service: Service) -> None:
    (check,) = json.loads((ROOT / "samples" / "answers" / "checks.json").read_bytes())["checks"][:1]
    many = [{**check, "id": f"c{number}"} for number in range(41)]
    answered = service.post("/v1/answer", {"checks": many, "split": True})
    receipts = answered.json["receipts"]
    assert [len(each["checks"]) for each in receipts] == [20, 20, 1]
    ids = " ".join(each["receipt_id"] for each in receipts)
    assert service.lines[-1]["receipt_id"] == ids
    report = service.post("/v1/verify", answered.json).json
    assert (report["valid"], report["exit"], report["sets"][0]["code"]) == (True, 0, None)
    assert service.lines[-1]["receipt_id"] == ids
    report = service.post("/v1/verify", linked_document(receipts[:2])).json
    assert (report["valid"], report["exit"], report["sets"][0]["code"]) == (False, 3, "AF392")
    alone = service.post("/v1/verify", receipts[0]).json
    assert (alone["valid"], alone["link"]["number"], alone["link"]["count"]) == (True, 1, 3)


REFUSED = {
    "too many": ({"checks": [{"id": f"c{n}", "tool": "t"} for n in range(101)]}, "AF391"),
    "no flag": ({"checks": [{"id": "a", "tool": "t"}], "split": 1}, "AF370"),
    "of a question": ({"question": "Why?"}, "AF370"),
}


@pytest.mark.parametrize(("body", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_the_service_refuses(service: Service, body: dict[str, Any], code: str) -> None:
    reply = service.post("/v1/answer", {"split": True, **body})
    assert (reply.status, reply.json["code"]) == (422, code)
