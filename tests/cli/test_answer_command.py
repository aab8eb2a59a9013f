"""`affidavit answer` and `affidavit coverage`, through the real command line."""

import json
import os
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.cli.running import REAL, run, run_on_terminal, run_process
from tests.cli.stamp_server import serving
from tests.golden_files import Golden
from tests.repository import ROOT
from tests.seal.authority import Authority, found_authority

from affidavit.app import keys as wiring
from affidavit.base.errors import AffidavitError
from affidavit.cli.program import cli
from affidavit.seal.receipts import receipt_from_bytes
from affidavit.tools import timestamp_authority

NOW = 1_767_225_600  # 2026-01-01T00:00:00Z
SAMPLES = ROOT / "samples" / "answers"
TOOLS = ("--tools", str(SAMPLES / "affidavit.toml"))
CHECKS = str(SAMPLES / "checks.json")
QUESTION = "How many days of annual leave are there?"


@pytest.fixture(autouse=True)
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same key and the same time in every run, and no passphrase."""
    monkeypatch.setattr(wiring, "random_bytes", lambda size: bytes(range(size)))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(NOW))
    monkeypatch.delenv(wiring.PASSPHRASE_VARIABLE, raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a key."""
    assert run("keys", "new", "--project", str(tmp_path)).exit_code == 0
    return tmp_path


def ask(project: Path, *arguments: str) -> Result:
    return run("answer", *TOOLS, "--project", str(project), *arguments)


def receipts(project: Path) -> list[Path]:
    return sorted((project / ".affidavit" / "receipts").glob("*"))


def test_two_tools_one_supported_one_contradicted(project: Path, golden: Golden) -> None:
    result = ask(project, CHECKS)
    assert (result.exit_code, result.stderr) == (1, "")
    (kept,) = receipts(project)
    assert f"Receipt: {kept}" in result.stdout
    golden.check("answer.txt", result.stdout.replace(str(project), "PROJECT"))
    golden.check("answer-receipt.json", kept.read_bytes())


def test_the_receipt_for_machines_is_the_receipt(project: Path) -> None:
    result = ask(project, CHECKS, "--json", "-o", str(project / "r.json"), "--issuer", "me")
    assert json.loads(result.stdout) == json.loads((project / "r.json").read_bytes())
    assert json.loads(result.stdout)["issuer"] == "me"
    assert receipts(project) == []


def test_checks_from_a_pipe(project: Path) -> None:
    check = {"id": "a", "tool": "leave_days", "args": {"kind": "sick"}}
    arguments = ["answer", *TOOLS, "--project", str(project), "-", "--json", "--deadline-ms", "999"]
    result = CliRunner().invoke(cli, arguments, input=json.dumps([check]))
    assert result.exit_code == 0
    assert json.loads(result.stdout)["verdict"] == "evidenced"


ENDS = {
    "a question is looked up": (QUESTION, 0, "evidenced"),
    "a statement that holds": ("There are 15 days of annual leave.", 0, "supported"),
    "a statement that does not": ("There are 12 days of annual leave.", 1, "contradicted"),
    "an unknown kind": (QUESTION.replace("annual", "moon"), 3, "insufficient_evidence"),
    "a question that is not covered": ("Who is the boss?", 3, "outside_evidence_coverage"),
}


@pytest.mark.parametrize(("question", "end", "verdict"), ENDS.values(), ids=ENDS.keys())
def test_questions(project: Path, question: str, end: int, verdict: str) -> None:
    result = ask(project, "--question", question)
    assert (result.exit_code, f"Verdict: {verdict}," in result.stdout) == (end, True)
    (kept,) = receipts(project)
    verified = run("verify", str(kept), "--project", str(project))
    assert verified.exit_code == 0, verified.stdout


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing asked": ((), "AF00"),
    "checks and a question": ((CHECKS, "--question", "why"), "AF00"),
    "no such file": (("no.json",), "AF01"),
    "no JSON": ((str(SAMPLES / "affidavit.toml"),), "AF0"),
    "YAML that is no request": ((str(SAMPLES / "routes.yaml"),), "AF370"),
    "an anchor that is not an address": ((CHECKS, "--anchor", "ftp://x"), "AF376"),
    "an address with a secret": ((CHECKS, "--anchor", "http://me:you@localhost"), "AF376"),
    "an address that cannot be read": ((CHECKS, "--anchor", "http://[::1"), "AF376"),
    "an anchor required, and none named": ((CHECKS, "--anchor-required"), "AF00"),
    "no time at all": ((CHECKS, "--deadline-ms", "0"), "AF355"),
    "no time for a question that no tool is asked": (
        ("--question", "why", "--deadline-ms", "60001"),
        "AF355",
    ),
    "no such key": ((CHECKS, "--key", "af-ed25519-000000000000"), "AF339"),
    "a place below a file": ((CHECKS, "-o", f"{CHECKS}/receipt.json"), "AF014"),
    "no words": (("--question", " ?"), "AF314"),
}


@pytest.mark.parametrize(("arguments", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(project: Path, arguments: tuple[str, ...], code: str) -> None:
    result = ask(project, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(code)
    assert "you@" not in result.stderr
    assert receipts(project) == []


def test_without_a_key_the_error_names_the_command_that_creates_one(tmp_path: Path) -> None:
    result = ask(tmp_path, CHECKS)
    assert result.exit_code == 2
    assert result.stderr.startswith("AF375")
    assert "`affidavit keys new`" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_that_is_too_large(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.cli.answer.MAX_REQUEST_BYTES", 3)
    arguments = ["answer", *TOOLS, "--project", str(project), "-"]
    result = CliRunner().invoke(cli, arguments, input="[" * 9)
    assert result.exit_code == 2
    assert "standard input" in result.stderr


def test_a_key_under_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(wiring.PASSPHRASE_VARIABLE, "correct horse")
    run("keys", "new", "--project", str(tmp_path))
    assert ask(tmp_path, CHECKS).exit_code == 1
    monkeypatch.delenv(wiring.PASSPHRASE_VARIABLE)
    assert ask(tmp_path, CHECKS).stderr.startswith("AF338")


def test_on_a_terminal_the_table_is_drawn_within_its_width(project: Path) -> None:
    end, shown = run_on_terminal(
        REAL, "answer", *TOOLS, CHECKS, "--project", str(project), "-q", env={"NO_COLOR": "1"}
    )
    assert end == 1
    assert "✗ contradicted" in shown
    plain = shown.replace("\x1b[1m", "").replace("\x1b[0m", "")
    table = plain.partition("Verdict: ")[0].splitlines()
    assert len(table) > 5
    assert max(map(len, table)) <= 80


def test_in_its_own_process_standard_output_has_only_the_result(project: Path) -> None:
    done = run_process(REAL, "answer", *TOOLS, CHECKS, "--project", str(project), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["verdict"] == "contradicted"


# Anchors


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return found_authority(tmp_path_factory.mktemp("authority"))


def test_a_self_anchor(project: Path) -> None:
    made = json.loads(ask(project, CHECKS, "--anchor", "self", "--json").stdout)
    assert made["anchor"]["status"] == "self_anchor"


def test_a_time_stamp_of_a_real_authority(
    project: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(authority.now.timestamp())))
    path = project / "stamped.json"
    with serving(lambda request: (200, authority.answer_to(request))) as url:
        result = ask(project, CHECKS, "--anchor", url, "--anchor-required", "-o", str(path))
    assert result.exit_code == 1, result.stderr
    assert json.loads(path.read_bytes())["anchor"]["status"] == "rfc3161"
    roots, others = authority.folder / "root.pem", authority.folder / "other.pem"
    later = ("--at", authority.now.replace(year=authority.now.year + 1).strftime("%Y-%m-%d"))
    for trusted, wanted in ((roots, 0), (others, 1)):
        arguments = ("--tsa-roots", str(trusted), "--stamp-required", "--project", str(project))
        assert run("verify", str(path), *arguments, *later).exit_code == wanted
    policy = ("--tsa-roots", str(roots), "--tsa-policy", "1.2.3", "--project", str(project))
    refused = run("verify", str(path), *policy, *later)
    assert refused.exit_code == 1  # The receipt is not tampered with.
    assert "AF346" in refused.stdout
    assert "tampered" not in refused.stdout.lower()
    assert "the signature holds, but its time stamp cannot be trusted" in refused.stdout
    unchecked = run("verify", str(path), "--project", str(project), *later)
    assert unchecked.exit_code == 0
    assert "NOT VALIDATED" in unchecked.stdout
    required = run("verify", str(path), "--require-timestamp", "--project", str(project), *later)
    assert (required.exit_code, "AF341" in required.stdout) == (3, True)


def test_a_receipt_is_stamped_later_with_a_chain_of_certificates(
    project: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(authority.now.timestamp())))
    path, token = project / "bare.json", project / "bare.json.tst"
    assert ask(project, CHECKS, "-o", str(path)).exit_code == 1
    before = path.read_bytes()
    with serving(lambda request: (200, authority.answer_to(request, with_chain=True))) as url:
        stamped = run("receipt", "stamp", str(path), "--authority", url)
    assert (stamped.exit_code, stamped.stderr) == (0, "")
    assert path.read_bytes() == before
    # The first token proves the earliest time, and it cannot be had again.
    first = token.read_bytes()
    again = run("receipt", "stamp", str(path), "--authority", "http://127.0.0.1:1")
    assert (again.exit_code, again.stderr[:5], token.read_bytes()) == (2, "AF529", first)
    at = (authority.now + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    verify = ("verify", str(path), "--project", str(project), "--at", at, "--require-timestamp")
    trusted = ("--tsa-roots", str(authority.folder / "root.pem"))
    held = run(*verify, *trusted, "--time-stamp", str(token))
    assert held.exit_code == 0, held.stdout
    assert "CN=Sample TSA stamped it" in held.stdout
    # The whole response of an authority is read, too.
    response = authority.folder / "answer.tsr"
    assert run(*verify, *trusted, "--time-stamp", str(response)).exit_code == 0
    assert run(*verify, *trusted).exit_code == 3
    authority.openssl(
        *("ts", "-verify", "-in", str(token), "-token_in", "-CAfile", "root.pem"),
        *("-digest", anchor_digest(path)),
    )
    other = project / "other.json"
    ask(project, "--question", QUESTION, "-o", str(other))
    moved = run("verify", str(other), *verify[2:], *trusted, "--time-stamp", str(token))
    assert (moved.exit_code, "AF340" in moved.stdout) == (4, True)
    several = run("verify", str(other), str(path), *verify[2:], "--time-stamp", str(token))
    assert (several.exit_code, several.stderr[:5]) == (2, "AF001")
    no_token = run(*verify, "--time-stamp", str(path))
    assert (no_token.exit_code, no_token.stderr[:5]) == (3, "AF347")


def anchor_digest(path: Path) -> str:
    return receipt_from_bytes(path.read_bytes()).forms.anchor_digest


def test_an_authority_that_stamps_nothing_later(project: Path) -> None:
    path = project / "bare.json"
    ask(project, CHECKS, "-o", str(path))
    with serving(lambda request: (503, b"")) as url:
        result = run("receipt", "stamp", str(path), "--authority", url)
    assert (result.exit_code, result.stderr[:5]) == (3, "AF371")
    assert not (project / "bare.json.tst").exists()


FAILURES: dict[str, tuple[int, bytes, str]] = {
    "an error of the server": (503, b"", "HTTP 503"),
    "a redirect is not followed": (302, b"", "HTTP 302"),
    "a page instead of a token": (200, b"<html>", "strict DER"),
    "too much": (200, bytes(9), "more than 8 bytes"),
}


@pytest.mark.parametrize(("status", "body", "said"), FAILURES.values(), ids=FAILURES.keys())
def test_an_authority_that_fails(
    project: Path, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, said: str
) -> None:
    monkeypatch.setattr(timestamp_authority, "MAX_RESPONSE_BYTES", 8)
    with serving(lambda request: (status, body)) as url:
        required = ask(project, CHECKS, "--anchor", url, "--anchor-required")
        assert (required.exit_code, required.stdout) == (3, "")
        assert required.stderr.startswith("AF371")
        assert receipts(project) == []
        result = ask(project, CHECKS, "--anchor", url, "-q")
    assert result.exit_code == 1
    assert "Written without a time stamp" in result.stdout
    assert said in result.stdout
    (kept,) = receipts(project)
    assert "anchor" not in json.loads(kept.read_bytes())


def test_an_unreachable_or_hanging_authority() -> None:
    released = threading.Event()

    def hang(request: bytes) -> tuple[int, bytes]:
        released.wait(5)
        return 500, b""

    with serving(hang) as url, pytest.raises(AffidavitError) as late:
        timestamp_authority.request_token(url, b"x", timeout_seconds=0.2)
    released.set()
    assert "time" in late.value.message or "within" in late.value.message
    with pytest.raises(AffidavitError) as gone:
        timestamp_authority.request_token(url, b"x", timeout_seconds=5)
    assert "refused" in gone.value.message


# Coverage and configuration


def test_coverage(golden: Golden) -> None:
    result = run("coverage", *TOOLS)
    assert (result.exit_code, result.stderr) == (0, "")
    golden.check("coverage.txt", result.stdout)
    manifest: dict[str, Any] = json.loads(run("coverage", *TOOLS, "--json").stdout)
    assert manifest["schema"] == "answer-coverage/v1"
    assert [tool["name"] for tool in manifest["checks_mode"]["tools"]] == [
        "leave_days",
        "software_version",
    ]


def test_without_a_file_there_is_one_tool_and_no_route(tmp_path: Path) -> None:
    result = run("coverage", "--project", str(tmp_path))
    assert "software_version" in result.stdout
    assert "No question is covered" in result.stdout
    assert "no affidavit.toml" in result.stderr


def test_the_projects_own_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "affidavit.toml").write_text(
        '[tools.versions]\nuse = "software_version"\n[answer]\nissuer = "here"\n'
    )
    run("keys", "new", "--project", str(tmp_path))
    check = [{"id": "py", "tool": "versions", "args": {"product": "python"}}]
    (tmp_path / "checks.json").write_text(json.dumps(check))
    result = run("answer", str(tmp_path / "checks.json"), "--project", str(tmp_path), "--json")
    assert (result.exit_code, json.loads(result.stdout)["issuer"]) == (0, "here")


WRONG_FILES: dict[str, tuple[str, str, str]] = {
    "an unknown field of the table": (
        "affidavit.toml",
        '[answer]\nissue = "x"\n[tools.v]\nuse = "software_version"\n',
        "AF351",
    ),
    "no TOML": ("affidavit.toml", "[", "AF350"),
    "the same in YAML": (
        "tools.yaml",
        "answer: {routes: 5}\ntools: {v: {use: software_version}}",
        "AF351",
    ),
}


@pytest.mark.parametrize(("name", "text", "code"), WRONG_FILES.values(), ids=WRONG_FILES.keys())
def test_wrong_files(tmp_path: Path, name: str, text: str, code: str) -> None:
    (tmp_path / name).write_text(text)
    named = () if name == "affidavit.toml" else ("--tools", str(tmp_path / name))
    result = run("coverage", "--project", str(tmp_path), *named)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{code}: {tmp_path / name}")


WRONG_ROUTES = {
    "no YAML": ("version: route/1\nroutes: [", "AF350", None),
    "an alias": ("version: route/1\nroutes:\n  - &a x\n  - *a\n", "AF350", 4),
    "no routes": ("version: route/1\n", "AF310", 1),
    "a pattern with two slots side by side": (
        'version: route/1\nroutes:\n  - id: r\n    tool: t\n    ask: ["is {a} {b}"]\n'
        '    args: {a: "{a}", b: "{b}"}\n',
        "AF312",
        5,
    ),
}


@pytest.mark.parametrize(("text", "code", "line"), WRONG_ROUTES.values(), ids=WRONG_ROUTES.keys())
def test_wrong_routes(tmp_path: Path, text: str, code: str, line: int | None) -> None:
    path = tmp_path / "routes.yaml"
    path.write_text(text)
    result = run("coverage", *TOOLS, "--routes", str(path))
    assert result.exit_code == 2
    place = f", line {line}" if line else ""
    assert result.stderr.startswith(f"{code}: {path}{place}")


ASSERTIONS = {
    "a sign": ("price <= 10", 0, "lte 10 holds"),
    "no spaces": ("price>9", 1, "gt 9 fails"),
    "a text": ("items.0.name = green tea", 0, 'eq "green tea" holds'),
    "an operator by its name": ("items.0.name starts_with green", 0, "starts_with"),
    "no value": ("price exists", 0, "exists holds"),
    "a list": ("price in [8.5, 9]", 0, "holds"),
    "no such path": ("cost < 1", 3, "cannot be evaluated"),
    "a sign in a quoted text": ('items.0.name != "a = b"', 0, 'ne "a = b" holds'),
}


@pytest.mark.parametrize(("text", "code", "said"), ASSERTIONS.values(), ids=ASSERTIONS.keys())
def test_one_line_about_a_file(project: Path, text: str, code: int, said: str) -> None:
    data = project / "data.json"
    data.write_text('{"price": 8.5, "items": [{"name": "green tea"}]}')
    result = run("answer", "--file", str(data), text, "--project", str(project))
    assert (result.exit_code, said in result.stdout) == (code, True), result.output
    (kept,) = receipts(project)
    assert run("verify", str(kept), "--project", str(project)).exit_code == 0


UNSIGNED = {
    "it holds": ("price <= 10", 0, "supported"),
    "it does not": ("price <= 8", 1, "contradicted"),
    "it cannot be told": ("cost <= 8", 3, "insufficient_evidence"),
}


@pytest.mark.parametrize(("text", "code", "verdict"), UNSIGNED.values(), ids=UNSIGNED.keys())
def test_without_a_key_a_line_about_a_file_is_answered_but_not_signed(
    tmp_path: Path, text: str, code: int, verdict: str
) -> None:
    data = tmp_path / "data.json"
    data.write_text('{"price": 8.5}')
    arguments = ("answer", "--file", str(data), text, "--project", str(tmp_path))
    result = run(*arguments)
    assert result.exit_code == code
    assert f"Verdict: {verdict}" in result.stdout
    assert "Not signed, so no receipt is written: `affidavit keys new`" in result.stderr
    body = json.loads(run(*arguments, "--json").stdout)
    assert (body["verdict"], body["issuer"]) == (verdict, "unsigned")
    assert body.keys().isdisjoint({"receipt_id", "signature"})
    assert list(tmp_path.iterdir()) == [data]


def test_a_file_that_is_missing_is_named_before_a_missing_key(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.json")
    arguments = ("answer", "--file", missing, "price <= 10", "--project", str(tmp_path))
    for more in ((), ("-o", str(tmp_path / "r.json"))):
        result = run(*arguments, *more)
        assert (result.exit_code, result.stderr[:5]) == (2, "AF010")


SIGNED_OPTIONS = (("--key", "x"), ("--issuer", "me"), ("--anchor", "self"), ("-o", "r.json"))


@pytest.mark.parametrize("option", SIGNED_OPTIONS, ids=[name for name, _ in SIGNED_OPTIONS])
def test_who_asks_for_a_receipt_needs_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: tuple[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.json").write_text("{}")
    result = run("answer", "--file", "data.json", "a = 1", *option)
    assert (result.exit_code, result.stderr[:3]) == (2, "AF3")
    assert not Path("r.json").exists()


def test_lines_that_assert_nothing_are_refused(project: Path) -> None:
    data = project / "data.json"
    data.write_text("1")
    arguments = ("answer", "--file", str(data), "--project", str(project))
    wrong = {"price": "AF389", "price is fine": "AF302", "<= 3": "AF389"}
    for text, fault in wrong.items():
        result = run(*arguments, text)
        assert (result.exit_code, result.stderr[:5]) == (2, fault)
    for more in ((), ("a = 1", "--question", "b"), ("a = 1", *TOOLS)):
        result = run(*arguments, *more)
        assert (result.exit_code, result.stderr[:5]) == (2, "AF001")
    late = run(*arguments, "a = 1", "--deadline-ms", "0")
    assert (late.exit_code, late.stderr[:5]) == (2, "AF355")
    assert receipts(project) == []


MISTYPED = {
    "not equal as in JavaScript": "price !== 8.5",
    "equal as in JavaScript": "price === 8.5",
    "signs the other way round": "price =< 10",
    "an arrow": "price => 10",
    "not equal as in SQL": "price <> 8.5",
    "two signs": "price != < 9",
    "a name and a sign": "price eq == 8.5",
    "two assertions": "price != 9 and items.0.name = tea",
    "a quote that is not closed": 'items.0.name != "tea',
    "a list that is not closed": "price != [8.5",
    "an object that is no JSON": "price != {a}",
}


@pytest.mark.parametrize("text", MISTYPED.values(), ids=MISTYPED.keys())
def test_a_mistyped_operator_is_not_part_of_a_text(project: Path, text: str) -> None:
    data = project / "data.json"
    data.write_text('{"price": 8.5, "items": [{"name": "green tea"}]}')
    result = run("answer", "--file", str(data), text, "--project", str(project))
    assert (result.exit_code, result.stderr[:5]) == (2, "AF389")
    assert "in double quotes" in result.stderr
    assert receipts(project) == []


def test_why_a_confidence_is_low_and_how_to_raise_it(project: Path) -> None:
    data = project / "data.json"
    data.write_text('{"price": 8.5}')
    os.utime(data, (NOW, NOW))
    arguments = ("answer", "--file", str(data), "price <= 10", "--project", str(project))
    low = run(*arguments, "--min-confidence", "0.8", "--deadline-ms", "5000")
    assert low.exit_code == 3
    assert "assertion: 0.50, as file is of a tool that declares no age" in low.stderr
    assert "`max_age_s`" in low.stderr
    assert "another `origin`" in low.stderr
    assert run(*arguments, "--min-confidence", "0.5").exit_code == 0
    # A contradiction stays one, whatever its confidence is.
    assert ask(project, CHECKS, "--min-confidence", "0.99").exit_code == 1
    assert "ledger-version: 0.80" in ask(project, CHECKS, "-v").stderr


def test_the_first_tools_and_checks_work(tmp_path: Path) -> None:
    assert run("init", "--tools", str(tmp_path)).exit_code == 0
    assert run("keys", "new", "--project", str(tmp_path)).exit_code == 0
    checks = str(tmp_path / "checks.yaml")
    result = run("answer", checks, "--project", str(tmp_path), "--min-confidence", "0.95")
    assert result.exit_code == 0, result.output
    (tmp_path / "checks.yaml").write_text("checks: [{id: a, id: b}]")
    wrong = run("answer", checks, "--project", str(tmp_path))
    assert (wrong.exit_code, "checks.yaml" in wrong.stderr) == (2, True)
