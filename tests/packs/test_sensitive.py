"""Secrets and personal data: what is found, what is not, and that nothing of it is shown."""

import gc
import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.packs.making import event, line_of, lint

from affidavit.packs.events import Event, decode_head
from affidavit.packs.lint import LintPass
from affidavit.packs.model import Severity
from affidavit.packs.report import LintSummary
from affidavit.packs.secret_formats import find_secrets, is_secret_by_name, looks_random
from affidavit.packs.sensitive import (
    find_personal_data,
    may_be_sensitive,
    may_hold_sensitive_text,
    sensitive_findings,
)

# Put together here, so that no scanner takes this file for a leak.
DRAWN = "Zx9" + "Qw7Er5Ty3Ui1Op0As8Df6"
TOKEN = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0." + "a1B2c3D4e5F6g7H8i9J0k1"

SECRETS = {
    "an API key": ("sk-" + DRAWN, "API key"),
    "an API key of a project": ("key is sk-proj-" + DRAWN + ".", "API key"),
    "a payment key": ("sk_live_" + "4eC39HqLyjWDarjtT1", "payment API key"),
    "an AWS key": ("AKIA" + "IOSFODNN7EXAMPLE", "AWS access key"),
    "a GitHub token": ("ghp_" + "a" * 36, "GitHub token"),
    "a fine-grained GitHub token": ("github_pat_" + "a" * 22 + "_" + "b" * 59, "GitHub token"),
    "a GitLab token": ("glpat-" + DRAWN, "GitLab token"),
    "a Slack token": ("xoxb-" + "123456789012-" + DRAWN, "Slack token"),
    "a Google key": ("AIza" + "S" * 35, "Google API key"),
    "a Hugging Face token": ("hf_" + "a" * 34, "Hugging Face token"),
    "an npm token": ("npm_" + "a" * 36, "npm token"),
    "a PyPI token": ("pypi-AgE" + "a" * 60, "PyPI token"),
    "a JSON web token": (TOKEN, "JSON web token"),
    "a private key": ("-----BEGIN RSA " + "PRIVATE KEY-----", "private key"),
    "a bearer token": ("Authorization: Bearer " + DRAWN, "bearer token"),
    "a password in an address": (
        "postgres://bob:" + "hunter42@db.host/x",
        "password in an address",
    ),
    "a password in a text": ("password=" + "Tr0ub4dor3x", "password in a text"),
    "a password with marks": ("DB_PASSWORD: " + "sup3r-secret!", "password in a text"),
    "a key in a text": ("api_key: '" + DRAWN + "'", "assigned secret"),
    "a key in a quoted line": ('"signing_key": "' + DRAWN + '"', "assigned secret"),
    "a key of Anthropic": ("sk-ant-api03-" + DRAWN * 3, "API key"),
    "a webhook's secret": ("whsec_" + DRAWN * 2, "webhook secret"),
    "an AWS secret key": (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY",
        "AWS secret key",
    ),
    "a Slack app's token": (
        "xapp-1-" + "A0123456789-1234567890123-" + "0a1b2c3d" * 8,
        "Slack token",
    ),
    "a Slack webhook": (
        "https://hooks.slack.com/" + "services/T0123ABCD/B0123ABCD/" + DRAWN,
        "webhook address",
    ),
    "a Discord webhook": (
        "https://discord.com/" + "api/webhooks/123456789012345678/" + "a1" * 34,
        "webhook address",
    ),
    "a Discord bot": (
        "MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".GabcDe." + "a1B2" * 8,
        "Discord bot token",
    ),
    "a Telegram bot": ("123456789" + ":AA" + "a1B2c3D4e5F" * 3, "Telegram bot token"),
    "a Google client": ("GOCSPX-" + "a1B2" * 7, "Google client secret"),
    "a Google session": ("ya29." + DRAWN * 2, "Google access token"),
    "a SendGrid key": ("SG." + "a1" * 11 + "." + "b2" * 21 + "c", "SendGrid API key"),
    "a Twilio key": ("SK" + "0a1b2c3d" * 4, "Twilio API key"),
    "a Mailgun key": ("key-" + "0a1b2c3d" * 4, "Mailgun API key"),
    "a Mailchimp key": ("0a1b2c3d" * 4 + "-us12", "Mailchimp API key"),
    "an Azure account": (
        "AccountName=x;AccountKey=" + "a1B2" * 21 + "cd==" + ";Suffix=y",
        "Azure account key",
    ),
    "an Azure app": ("abc8Q~" + "a1B2c3D4" * 4, "Azure client secret"),
    "a DigitalOcean token": ("dop_v1_" + "0a1b2c3d" * 8, "DigitalOcean token"),
    "a Shopify token": ("shpat_" + "0a1b2c3d" * 4, "Shopify token"),
    "a Databricks token": ("dapi" + "0a1b2c3d" * 4, "Databricks token"),
    "a Vault token": ("hvs." + DRAWN * 4, "Vault token"),
    "a Terraform token": ("a" * 14 + ".atlasv1." + "b" * 67, "Terraform token"),
    "a Doppler token": ("dp.pt." + "a" * 43, "Doppler token"),
    "an Airtable token": ("pat" + "a" * 14 + "." + "0a1b2c3d" * 8, "Airtable token"),
    "a Docker token": ("dckr_pat_" + DRAWN + "abcdef", "Docker token"),
    "an Atlassian token": ("ATATT3" + DRAWN * 8, "Atlassian token"),
    "a Groq key": ("gsk_" + "a" * 52, "Groq API key"),
    "a LangSmith key": ("lsv2_pt_" + "0a1b2c3d" * 4 + "_0a1b2c3d4e", "LangSmith API key"),
    "basic authentication": (
        "Authorization: Basic " + "YWxhZGRpbjpvcGVuc2VzYW1l",
        "password in a header",
    ),
    "a password without a user": ("redis://:" + "hunter42@cache:6379", "password in an address"),
    "a PuTTY key": ("PuTTY-User-Key-" + "File-3: ssh-ed25519", "private key"),
    "an OpenSSH key": ("-----BEGIN OPENSSH " + "PRIVATE KEY-----", "private key"),
    "a PGP key": ("-----BEGIN PGP " + "PRIVATE KEY BLOCK-----", "private key"),
}

HARMLESS = {
    "a task": "task-1",
    "a disk": "disk-0 is full",
    "a risk with a long name": "risk-assessment-of-the-whole-department-2024",
    "a short key": "sk-123",
    "a package": "scikit sk-learn-contrib-package-with-a-long-name",
    "a mask": "mask_live_1234567890abcdef12",
    "a desk": "help-desk_test_0123456789abcdef",
    "a word with the start of an AWS key": "AKIAFRICA",
    "a bearer of news": "the bearer of the certificate",
    "a token count": "max_tokens: 12345678",
    "a word for a password": "password: required",
    "a variable": "password=${DB_PASSWORD}",
    "stars": "token=****************",
    "a digest": "token: sha256:" + "0a1b2c3d" * 8,
    "an address without a password": "https://example.org:8443/a@b",
    "three words with dots": "eyJust.eyJsay.something-that-is-long-enough",
    "what is no base64": "eyJA_.eyJhYmNk." + "b" * 24,
    "what is no JSON": "eyJAbcdefgh.eyJhYmNk." + "b" * 24,
    "a uuid": "550e8400-e29b-41d4-a716-446655440000",
    "a hash": "5e25cb9f81c2c955dd323cc28fc56c48c806c146edde23265e25a746e5c3d526",
    "a public key": "-----BEGIN PUBLIC KEY-----",
    "basic knowledge": "with Basic understanding of YWJjZGVm",
    "a password to be chosen": "password: at-least-eight-letters",
    "a call of a function": "token=get_session_token(request)",
    "a long name behind a dot": "module.a_function_with_a_long_name_2024",
    "a pod": "checkout-service-7d9f8b6c5d-x2k4z",
    "a long identifier with a prefix": "glc_configuration_of_the_whole_department_names",
    "a digest with its name": "aws_key: 5e25cb9f81c2c955dd323cc28fc56c48c806c146",
    "numbers with a colon": "123456789:abcdefghijklmnopqrstuvwxyz012345678",
    "three parts that are no bot": "Nabcdefghijklmnopqrstuvwx.abcdef." + "a" * 30,
}


@pytest.mark.parametrize(("text", "kind"), SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_is_found(text: str, kind: str) -> None:
    assert [match.kind for match in find_secrets(text)] == [kind]
    (match,) = find_secrets(f"before {text} after")
    assert text[:3] not in match.shown or len(match.shown) < 15


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_is_no_secret(text: str) -> None:
    assert list(find_secrets(text)) == []


NAMED: dict[str, tuple[str, str, bool]] = {
    "a password": ("password", "correct-horse", True),
    "a name in another style": ("clientSecret", "abcdefghij", True),
    "a name with hyphens": ("X-Api-Key", "abcdefghij", True),
    "a name that ends like one": ("STRIPE_API_KEY", DRAWN, True),
    "a name that ends like one, with a plain word": ("reset_password", "afterwards", False),
    "a name that is too long": ("a" * 100 + "password", DRAWN, False),
    "an api key": ("api-key", "abcdefghij", True),
    "too short": ("password", "short", False),
    "a sentence": ("secret", "it is a secret to everybody", False),
    "a stand-in": ("password", "********", False),
    "a redacted one": ("token", "abcdefghij", False),
    "another field": ("title", "abcdefghij", False),
}


@pytest.mark.parametrize(("name", "text", "wanted"), NAMED.values(), ids=NAMED.keys())
def test_a_secret_by_the_name_of_its_field(name: str, text: str, wanted: bool) -> None:
    assert is_secret_by_name(name, text) is wanted


PERSONAL = {
    "an e-mail address": ("write to ada.l+x@mail.co.uk.", "e-mail address"),
    "a bank account": ("IBAN DE89 3704 0044 0532 0130 00", "bank account number"),
    "a bank account without spaces": ("GB82WEST12345698765432", "bank account number"),
    "a card": ("4111 1111 1111 1111", "payment card number"),
    "a card with hyphens": ("5500-0000-0000-0004", "payment card number"),
    "a card in one": ("card 4242424242424242.", "payment card number"),
    "a shorter card": ("3782 822463 10005", "payment card number"),
    "a telephone": ("call +49 30 901820 77", "telephone number"),
    "a telephone with brackets": ("+1 (212) 555-0123-45", "telephone number"),
}

IMPERSONAL = {
    "nobody's address": "user@example.com",
    "nobody's host": "root@localhost",
    "a test domain": "a@b.test",
    "a remote of git": "git@github.com:org/repo",
    "a version": "package@1.2.3",
    "no reply": "noreply@shop.de",
    "a handle": "@ada",
    "a wrong bank account": "DE89 3704 0044 0532 0130 01",
    "a country without such accounts": "XX82WEST12345698765432",
    "a wrong card": "4111 1111 1111 1112",
    "a card of zeros": "4000000000000000",
    "nanoseconds": "1700000000000000000",
    "a long id": "1234567890123456",
    "a fraction": "0.4242424242424242",
    "a number in a word": "x4242424242424242",
    "a short number": "+1 234",
    "a sum": "1+1234567890123",
    "a time zone": "2026-01-31T14:30:00+01:00",
}


@pytest.mark.parametrize(("text", "kind"), PERSONAL.values(), ids=PERSONAL.keys())
def test_personal_data_is_found(text: str, kind: str) -> None:
    assert [match.kind for match in find_personal_data(text)] == [kind]


@pytest.mark.parametrize("text", IMPERSONAL.values(), ids=IMPERSONAL.keys())
def test_what_is_no_personal_data(text: str) -> None:
    assert list(find_personal_data(text)) == []


ALL_TEXTS = {**{k: v[0] for k, v in {**SECRETS, **PERSONAL}.items()}}


@pytest.mark.parametrize("text", ALL_TEXTS.values(), ids=ALL_TEXTS.keys())
@pytest.mark.parametrize("filler", ["", "x " * 400], ids=["short", "long"])
def test_the_first_look_misses_nothing(text: str, filler: str) -> None:
    assert may_hold_sensitive_text(json.dumps({"a": [filler + text]}).encode())
    head = decode_head(line_of(event("t", {"a": filler}, subject=text)))
    assert may_be_sensitive([head])


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(sorted(ALL_TEXTS.values())))
def test_what_is_found_in_a_text_has_a_mark(before: str, after: str, text: str) -> None:
    whole = before + text + after
    found = [*find_secrets(whole), *find_personal_data(whole)]
    assert not found or may_hold_sensitive_text(
        json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace")
    )


@given(st.text(st.sampled_from('sk-_AIKghpou@+0123456789 :="token\\u'), max_size=60))
def test_what_has_no_mark_holds_nothing(text: str) -> None:
    raw = json.dumps(text, ensure_ascii=False).encode()
    if not may_hold_sensitive_text(raw):
        assert [*find_secrets(text), *find_personal_data(text)] == []


def test_most_events_need_no_second_look() -> None:
    data = {"path": "var/task-1", "disk": "disk-0", "n": 12, "hash": "5e25cb9f" * 8}
    assert not may_be_sensitive([decode_head(line_of(event("t", data, subject="api.test:443")))])
    assert not may_be_sensitive([decode_head(line_of(event("t", data)))])


def found_in(data: Any, **others: Any) -> list[tuple[str, str, str | None]]:
    result = lint([], [event("t", data, **others)])
    return [
        (each.rule_id.removeprefix("AFFIDAVIT-"), each.severity, each.location.pointer)
        for each in result.findings
        if each.location is not None
    ]


def test_a_secret_is_told_with_its_place_and_its_flag() -> None:
    assert found_in({"a": [1, {"b/c": "sk-" + DRAWN}]}) == [
        ("S001", "error", "/data/a/1/b~1c"),
        ("S002", "warning", "/data/a/1/b~1c"),
    ]
    assert found_in({"a": "sk-" + DRAWN}, assaysecrets=True) == [("S001", "error", "/data/a")]


def test_personal_data_is_told_with_its_place_and_its_flag() -> None:
    assert found_in(["x", "ada@mail.org"]) == [
        ("P002", "warning", "/data/1"),
        ("P001", "info", "/data/1"),
    ]
    assert found_in("ada@mail.org", assaypii=True) == [("P001", "info", "/data")]


def test_a_subject_a_number_and_a_key_are_looked_at() -> None:
    assert ("P001", "info", "/subject") in found_in({}, subject="ada@mail.org")
    assert ("P001", "info", "/data/n") in found_in({"n": 4242424242424242, "t": True})
    assert ("S001", "error", "/data/password") in found_in({"password": "correct-horse"})
    # The key is the secret: the place is what holds it, and the pointer of its value hides it.
    found = found_in({"sk-" + DRAWN: {"x": "ada@mail.org"}})
    assert ("S001", "error", "/data") in found
    assert ("P001", "info", "/data/…/x") in found


def test_what_overlaps_is_found_once_and_what_does_not_each() -> None:
    text = f"Bearer sk-{DRAWN} then api_key={DRAWN} then glpat-{DRAWN} then Bearer {DRAWN}"
    kinds = [match.kind for match in find_secrets(text)]
    assert kinds == ["API key", "GitLab token", "bearer token", "assigned secret"]


def test_nothing_of_a_secret_is_shown() -> None:
    data = {"k": "sk-" + DRAWN, "c": "4242424242424242", "m": "ada@mail.org", "t": TOKEN}
    shown = "".join(each.message for each in lint([], [event("t", data)]).findings)
    assert [part for part in (DRAWN[:6], "4242", "ada", TOKEN[:12]) if part in shown] == []


def test_many_findings_are_counted_and_not_kept() -> None:
    events = [event("t", {"m": ["ada@mail.org", "sk-" + DRAWN]})] * 30
    result = lint([], events, max_results=10)
    assert len(result.findings) == 10
    assert {each.severity for each in result.findings} == {Severity.ERROR}
    assert result.summary == LintSummary(total=120, errors=30, warnings=60, infos=30)
    assert result.truncated == 110


def test_one_secret_among_many_events_is_found() -> None:
    lines = [line_of(event("t", {"n": at}, seq=at)) for at in range(200)]
    lines[150] = line_of(event("t", {"k": "sk-" + DRAWN}, seq=150))
    done = LintPass([], {})
    done.feed_lines(1, b"".join(line + b"\n" for line in lines))
    places = {each.location.line for each in done.finish().findings if each.location}
    assert places == {151}


def test_a_fingerprint_is_of_the_rule_and_the_place() -> None:
    data = {"a": "sk-" + DRAWN, "b": "sk-" + DRAWN}
    prints = [each.fingerprint for each in lint([], [event("t", data)] * 2).findings]
    assert len(set(prints)) == len(prints) == 6
    again = [each.fingerprint for each in lint([], [event("t", data)] * 2).findings]
    assert prints == again


def test_a_long_key_is_shortened_in_a_place() -> None:
    ((_, _, pointer), *_) = found_in({"k" * 1000: "sk-" + DRAWN})
    assert pointer == "/data/" + "k" * 199 + "…"


ROOT = Path(__file__).parents[2]


def ordinary_texts() -> Iterator[str]:
    """Yield texts of ordinary work: prose, code, ids, digests, addresses, image names."""
    pages = sorted((ROOT / "docs").glob("*.md"))
    # The pages on secrets show what they look like.
    lines = [line for page in pages for line in page.read_text("utf-8").splitlines() if line]
    code = sorted((ROOT / "src/affidavit/gates").glob("*.py"))
    lines += [line for file in code for line in file.read_text("utf-8").splitlines() if line]
    yield from lines[:: len(lines) // 1500]
    for at in range(200):
        drawn = sha256(str(at).encode()).hexdigest()
        yield f"GET /v1/items/{drawn[:32]}?page={at} 200 {drawn[:8]}"
        yield str(UUID(drawn[:32]))
        yield f"registry.test/team/image@sha256:{drawn}"
        yield b64encode(bytes.fromhex(drawn)).decode()
        yield f"worker-{drawn[:10]}-{drawn[10:15]} ended task-{at} in 0.{at} s, {drawn[:40]}"


def test_no_false_alarm_on_two_thousand_ordinary_events() -> None:
    texts = list(ordinary_texts())
    assert len(texts) >= 2000
    found = [(text, match.kind) for text in texts for match in find_secrets(text)]
    assert found == []


HOSTILE = {
    "secrets": ("password=" + "Tr0ub4dor3x1 ", ""),
    "keys": ("sk-" + DRAWN + " ", ""),
    "starts of tokens": ("eyJaaaaaaaa.", ""),
    "one long word": ("a1B-", ""),
    "names with spaces": ("token   ", ""),
    "addresses": ("a@", ""),
    "dots": ("a.", ""),
    "digits": ("+1 23 ", ""),
    "colons": ("://a:b", ""),
    "members of a long key": ("x", "k"),
}


@pytest.mark.parametrize(("unit", "key"), HOSTILE.values(), ids=HOSTILE.keys())
def test_the_time_grows_with_the_size_not_with_its_square(unit: str, key: str) -> None:
    def seconds(size: int) -> float:
        data: Any = {key * size: [unit] * size} if key else unit * (size // len(unit))
        raw = line_of(event("t", {"a@b.cd": data}))
        one = Event(1, raw, decode_head(raw))
        started = process_time()
        list(sensitive_findings(one))
        return process_time() - started

    gc.disable()  # A collection takes as long as all other tests of the process have objects.
    try:
        small, large = (min(seconds(size) for _ in range(5)) for size in (10_000, 80_000))
    finally:
        gc.enable()
    # Eight times the size; with the square it would be 64 times the time.
    assert large < 24 * small + 0.05


def test_a_text_that_is_made_of_digits_only_is_not_drawn() -> None:
    assert not looks_random("12345678901234567890")
    assert not looks_random("aaaaaaaaaaaaaaaaaa11")
