"""How many kinds of secrets are found, and that ordinary events raise no alarm.

The kinds are those that the rule sets of gitleaks, trufflehog and detect-secrets describe. The
values are drawn here in their formats, in pieces, so that no scanner takes this file for a leak.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any
from uuid import UUID

import pytest
from tests.packs.making import event, lint

HEX = digits + "abcdef"
ALNUM = ascii_letters + digits
UPPER = ascii_uppercase + digits
WORD = ALNUM + "_-"
BASE64 = ALNUM + "+/"
Draw = Callable[[str, int], str]


def encoded(value: str) -> str:
    return b64encode(value.encode()).decode().rstrip("=")


def uuid(draw: Draw) -> str:
    return str(UUID(draw(HEX, 32)))


def pem(kind: str, draw: Draw) -> str:
    lines = "\n".join(draw(BASE64, 64) for _ in range(4))
    return f"-----BEGIN {kind}" + f"PRIVATE KEY-----\n{lines}\n-----END {kind}" + "PRIVATE KEY-----"


def web_token(draw: Draw) -> str:
    header, claims = json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps({"sub": draw(HEX, 8)})
    return f"{encoded(header)}.{encoded(claims)}.{draw(WORD, 43)}"


KINDS: dict[str, Callable[[Draw], str]] = {
    "AWS access key id": lambda draw: "AK" + "IA" + draw(ascii_uppercase + "234567", 16),
    "AWS temporary key id": lambda draw: "AS" + "IA" + draw(ascii_uppercase + "234567", 16),
    "AWS secret key": lambda draw: "aws_secret_access" + f"_key = {draw(BASE64, 40)}",
    "Alibaba access key": lambda draw: "LT" + "AI" + draw(ALNUM, 20),
    "GitHub classic token": lambda draw: "gh" + "p_" + draw(ALNUM, 36),
    "GitHub app token": lambda draw: "gh" + "s_" + draw(ALNUM, 36),
    "GitHub fine-grained token": lambda draw: (
        "github" + f"_pat_{draw(ALNUM, 22)}_{draw(ALNUM, 59)}"
    ),
    "GitLab personal token": lambda draw: "gl" + "pat-" + draw(WORD, 20),
    "GitLab runner token": lambda draw: "gl" + "rt-" + draw(WORD, 20),
    "Slack bot token": lambda draw: (
        "xox" + f"b-{draw(digits, 12)}-{draw(digits, 13)}-{draw(ALNUM, 24)}"
    ),
    "Slack webhook": lambda draw: (
        "https://hooks.slack"
        + f".com/services/T{draw(UPPER, 8)}/B{draw(UPPER, 8)}/{draw(ALNUM, 24)}"
    ),
    "Stripe key": lambda draw: "sk" + "_live_" + draw(ALNUM, 24),
    "Stripe restricted key": lambda draw: "rk" + "_live_" + draw(ALNUM, 99),
    "Google API key": lambda draw: "AI" + "za" + draw(WORD, 35),
    "Google client secret": lambda draw: "GOC" + "SPX-" + draw(WORD, 28),
    "Google service account": lambda draw: json.dumps(
        {"type": "service_account", "private_key": pem("", draw)}
    ),
    "OpenAI key": lambda draw: "sk" + f"-proj-{draw(WORD, 74)}T3Blbk" + f"FJ{draw(WORD, 74)}",
    "OpenAI key of the first form": lambda draw: (
        "sk" + f"-{draw(ALNUM, 20)}T3Blbk" + f"FJ{draw(ALNUM, 20)}"
    ),
    "Anthropic key": lambda draw: "sk" + f"-ant-api03-{draw(WORD, 93)}AA",
    "Hugging Face token": lambda draw: "hf" + "_" + draw(ascii_letters, 34),
    "npm token": lambda draw: "np" + "m_" + draw(ALNUM, 36),
    "PyPI token": lambda draw: "py" + "pi-AgEIcHlwaS5vcmc" + draw(WORD, 80),
    "RubyGems key": lambda draw: "ruby" + "gems_" + draw(HEX, 48),
    "Clojars token": lambda draw: "CLO" + "JARS_" + draw(ascii_lowercase + digits, 60),
    "SendGrid key": lambda draw: "S" + f"G.{draw(WORD, 22)}.{draw(WORD, 43)}",
    "Twilio key": lambda draw: "S" + "K" + draw(HEX, 32),
    "Mailgun key": lambda draw: "ke" + "y-" + draw(HEX, 32),
    "Mailchimp key": lambda draw: draw(HEX, 32) + "-us" + "14",
    "Brevo key": lambda draw: "xkey" + f"sib-{draw(HEX, 64)}-{draw(ALNUM, 16)}",
    "DigitalOcean token": lambda draw: "do" + "p_v1_" + draw(HEX, 64),
    "Discord bot token": lambda draw: (
        f"{encoded('1' + draw(digits, 17))}.{draw(WORD, 6)}" + f".{draw(WORD, 38)}"
    ),
    "Telegram bot token": lambda draw: f"5{draw(digits, 9)}" + f":AA{draw(WORD, 33)}",
    "JSON web token": web_token,
    "RSA private key": lambda draw: pem("RSA ", draw),
    "OpenSSH private key": lambda draw: pem("OPENSSH ", draw),
    "elliptic curve private key": lambda draw: pem("EC ", draw),
    "encrypted private key": lambda draw: pem("ENCRYPTED ", draw),
    "password in a database address": lambda draw: (
        f"postgresql://app:{draw(ALNUM, 16)}" + "@db:5432/x"
    ),
    "password in a header": lambda draw: (
        "Authorization: Ba" + f"sic {encoded('bob:' + draw(ALNUM, 12))}"
    ),
    "bearer token": lambda draw: "Authorization: Be" + f"arer {draw(ALNUM, 40)}",
    "Azure storage key": lambda draw: (
        "DefaultEndpointsProtocol=https;AccountName=x;Account" + f"Key={draw(BASE64, 86)}=="
    ),
    "Azure client secret": lambda draw: f"{draw(ALNUM, 3)}8" + f"Q~{draw(ALNUM, 34)}",
    "Vault service token": lambda draw: "hv" + "s." + draw(WORD, 95),
    "Vault batch token": lambda draw: "hv" + "b." + draw(WORD, 140),
    "Terraform token": lambda draw: f"{draw(ALNUM, 14)}" + f".atlasv1.{draw(WORD, 67)}",
    "Databricks token": lambda draw: "da" + "pi" + draw(HEX, 32),
    "Shopify token": lambda draw: "shp" + "at_" + draw(HEX, 32),
    "Square token": lambda draw: "sq0" + "atp-" + draw(WORD, 22),
    "Heroku key": lambda draw: "HEROKU_API" + f"_KEY={uuid(draw)}",
    "Linear key": lambda draw: "lin" + "_api_" + draw(ALNUM, 40),
    "Notion token": lambda draw: "nt" + f"n_{draw(digits, 11)}{draw(ALNUM, 35)}",
    "Figma token": lambda draw: "fig" + "d_" + draw(WORD, 40),
    "Postman key": lambda draw: "PM" + f"AK-{draw(HEX, 24)}-{draw(HEX, 34)}",
    "New Relic key": lambda draw: "NR" + "AK-" + draw(UPPER, 27),
    "Grafana service token": lambda draw: "gl" + f"sa_{draw(ALNUM, 32)}_{draw(HEX, 8)}",
    "Doppler token": lambda draw: "dp" + ".pt." + draw(ALNUM, 43),
    "Docker token": lambda draw: "dckr" + "_pat_" + draw(WORD, 27),
    "Pulumi token": lambda draw: "pu" + "l-" + draw(HEX, 40),
    "Artifactory key": lambda draw: "AK" + "Cp" + draw(ALNUM, 69),
    "Atlassian token": lambda draw: "ATA" + f"TT3{draw(WORD, 178)}",
    "age key": lambda draw: "AGE-SEC" + "RET-KEY-1" + draw("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "Groq key": lambda draw: "gs" + "k_" + draw(ALNUM, 52),
    "LangSmith key": lambda draw: "ls" + f"v2_pt_{draw(HEX, 32)}_{draw(HEX, 10)}",
    "Replicate token": lambda draw: "r" + "8_" + draw(ALNUM, 37),
    "Airtable token": lambda draw: "pa" + f"t{draw(ALNUM, 14)}.{draw(HEX, 64)}",
    "Contentful token": lambda draw: "CF" + "PAT-" + draw(WORD, 43),
    "Dynatrace token": lambda draw: "dt0" + f"c01.{draw(UPPER, 24)}.{draw(UPPER, 64)}",
    "EasyPost key": lambda draw: "EZ" + "AK" + draw(ALNUM, 54),
    "Flutterwave key": lambda draw: "FLW" + f"SECK_TEST-{draw('abcdefgh' + digits, 32)}-X",
    "Infracost key": lambda draw: "ic" + "o-" + draw(ALNUM, 32),
    "Prefect key": lambda draw: "pn" + "u_" + draw(ascii_lowercase + digits, 36),
    "ReadMe key": lambda draw: "rd" + "me_" + draw(ascii_lowercase + digits, 70),
    "Shippo token": lambda draw: "ship" + "po_live_" + draw(HEX, 40),
    "Sourcegraph token": lambda draw: "sg" + f"p_{draw(HEX, 16)}_{draw(HEX, 40)}",
    "OpenShift token": lambda draw: "sha256" + "~" + draw(WORD, 43),
    "Octopus key": lambda draw: "AP" + "I-" + draw(UPPER, 26),
    "1Password service token": lambda draw: "op" + f"s_eyJ{draw(BASE64, 250)}",
    "Fly.io token": lambda draw: "fm" + "2_" + draw(BASE64, 120),
    "Datadog key": lambda draw: "DD_API" + f"_KEY={draw(HEX, 32)}",
    "Cloudflare token": lambda draw: "CLOUDFLARE_API" + f"_TOKEN: {draw(WORD, 40)}",
    "Okta token": lambda draw: "okta_api" + f"_token='00{draw(WORD, 40)}'",
    "password in a setting": lambda draw: "DB_PASS" + f"WORD={draw(ALNUM, 14)}",
}

PLACES: tuple[Callable[[str], Any], ...] = (
    lambda text: {"output": text},
    lambda text: {"arguments": {"command": f"run --with '{text}' --verbose"}},
    lambda text: {"messages": [{"role": "user", "content": f"Here it is: {text}\nThanks!"}]},
    lambda text: {"env": f"A=1\n{text}\nB=2"},
)


def is_found(data: Any) -> bool:
    rules = {each.rule_id for each in lint([], [event("affidavit.tool.called", data)]).findings}
    return "AFFIDAVIT-S001" in rules


def drawn(name: str) -> Iterator[str]:
    """Yield ten secrets of a kind, the same in every run."""
    chance = Random(name)
    for _ in range(10):
        yield KINDS[name](lambda letters, count: "".join(chance.choices(letters, k=count)))


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_secret_is_found(name: str) -> None:
    places = [place(text) for text in drawn(name) for place in PLACES]
    assert [data for data in places if not is_found(data)] == []


def ordinary_events() -> Iterator[dict[str, Any]]:
    """Yield 2,000 events of ordinary runs: ids, digests, addresses, code, tables, prose."""
    for number in range(2_000):
        digest = sha256(str(number).encode()).hexdigest()
        chance = Random(number)
        letters = "".join(chance.choices(ALNUM, k=32))
        yield event(
            "affidavit.tool.called", ORDINARY[number % len(ORDINARY)](digest, letters, number)
        )


ORDINARY: tuple[Callable[[str, str, int], Any], ...] = (
    lambda digest, letters, number: {"url": f"/v1/items?page_token={letters}&pageToken={digest}"},
    lambda digest, letters, number: {"text": f"NEXT_TOKEN={letters} continuation-token: {digest}"},
    lambda digest, letters, number: {"commit": digest[:40], "tree": digest, "short": digest[:7]},
    lambda digest, letters, number: {"id": str(UUID(digest[:32])), "trace_id": digest[:32]},
    lambda digest, letters, number: {"image": f"registry.test/team/app@sha256:{digest}"},
    lambda digest, letters, number: {
        "pod": f"api-{digest[:9]}-{digest[9:14]}",
        "node": "ip-10-0-3-7",
    },
    lambda digest, letters, number: {
        "url": f"https://example.org/a/{letters}?page={number}&s={digest[:9]}"
    },
    lambda digest, letters, number: {"usage": {"total_tokens": number, "max_tokens": 4096}},
    lambda digest, letters, number: {"nextPageToken": letters, "items": [digest[:12]]},
    lambda digest, letters, number: {"next_token": letters, "continuation_token": digest[:24]},
    lambda digest, letters, number: {
        "idempotency_key": str(UUID(digest[:32])),
        "cache_key": digest,
    },
    lambda digest, letters, number: {"sort_key": f"user#{number}", "partition_key": digest[:16]},
    lambda digest, letters, number: {
        "public_key": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{letters}"
    },
    lambda digest, letters, number: {"key_id": f"af-ed25519-{digest[:12]}", "sig": letters},
    lambda digest, letters, number: {
        "log": f"worker-{number} took 0.{number} s for task-{digest[:8]}"
    },
    lambda digest, letters, number: {
        "data": f"data:image/png;base64,{letters}{letters}{letters}=="
    },
    lambda digest, letters, number: {
        "content": "Reset your password in the settings; the token expires."
    },
    lambda digest, letters, number: {
        "content": "Set password=<your-password> and api_key=YOUR_API_KEY."
    },
    lambda digest, letters, number: {
        "code": "token = os.environ['API_TOKEN']  # never in the code"
    },
    lambda digest, letters, number: {
        "code": f"def test_{number}(secret: str) -> None: check(secret)"
    },
    lambda digest, letters, number: {"env": "DB_PASSWORD=${DB_PASSWORD}\nAPI_KEY=$API_KEY"},
    lambda digest, letters, number: {"header": "Authorization: Bearer <token>", "status": 200},
    lambda digest, letters, number: {"sql": "SELECT token, key FROM sessions", "row": number},
    lambda digest, letters, number: {
        "path": f"/srv/data/{digest[:2]}/{digest[2:]}/part-{number:05}.parquet"
    },
    lambda digest, letters, number: {"arn": f"arn:aws:iam::{number:012}:role/app-{digest[:6]}"},
    lambda digest, letters, number: {
        "lock": f"lodash@4.17.21 sha512-{letters}{letters}{letters[:22]}=="
    },
    lambda digest, letters, number: {
        "icon": f"/static/ico-{digest[:32]}.svg",
        "etag": f'W/"{digest[:27]}"',
    },
    lambda digest, letters, number: {
        "ticket": f"API-{number}",
        "doc": f"PROJ-{number}-KEY-RESULTS",
    },
    lambda digest, letters, number: {"mail": "Token ring and secret sharing are chapters 3 and 4."},
    lambda digest, letters, number: {
        "config": {"token_type": "bearer", "key_size": 2048, "secret": None}
    },
    lambda digest, letters, number: {"row": ",".join(str(number * step) for step in range(30))},
    lambda digest, letters, number: {
        "model": "text-embedding-3-large",
        "vector": [0.1, -0.25, 3e-05],
    },
    lambda digest, letters, number: {
        "session": f"sess-{digest[:24]}",
        "span": f"task-{letters[:12]}",
    },
    lambda digest, letters, number: {
        "text": f"The key result of {number} was 42% (see https://example.org)."
    },
)


def test_no_ordinary_event_raises_an_alarm() -> None:
    events = list(ordinary_events())
    assert len(events) == 2_000
    found = lint([], events, max_results=2_000).findings
    assert [each.message for each in found if each.rule_id.startswith("AFFIDAVIT-S")] == []
