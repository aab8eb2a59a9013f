"""The forms of secrets: the keys and tokens that services issue, private keys, passwords.

Secrets have the form that their issuers define, with boundaries on both sides: "task-1" contains
`sk-` and is no key. If the form is loose, the rest must also look random: several digits, and
enough different letters. The time of a search grows with the length of the text.
"""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log2
from typing import Final

import msgspec

WORD: Final = r"[A-Za-z0-9_-]"
_HEX: Final = r"[a-f0-9]"
_ALNUM: Final = r"[A-Za-z0-9]"
_RIGHT: Final = r"(?![A-Za-z0-9_-])"
MIN_BITS: Final = 3.0  # Per letter. English words have about 2.5 to 3, drawn keys above 3.5.


class SensitiveMatch(msgspec.Struct, frozen=True):
    """A match: its kind, its position, and a text that may be shown for it."""

    kind: str
    shown: str
    start: int
    end: int


class _SecretFormat(msgspec.Struct, frozen=True):
    """The form of a secret. The first group of the pattern, if there is one, must satisfy `holds`.

    `marks` are texts in lower case, one of which every match contains, without its case.
    """

    kind: str
    shown: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[str], bool]


def _bits(text: str) -> float:
    """Return the entropy of a text, in bits per letter."""
    size = len(text)
    return -sum(count / size * log2(count / size) for count in Counter(text).values())


def looks_random(text: str) -> bool:
    """Return whether a text looks random: at least two digits, and many different letters."""
    if sum(map(str.isdigit, text)) < 2 or not any(map(str.isalpha, text)):
        return False
    return _bits(text) >= MIN_BITS


_MIN_MIXED_BITS: Final = 3.7  # Of 20 letters that were drawn; names of two words have about 3.4.


def _looks_issued(text: str) -> bool:
    """Return whether the rest of a key looks random; by chance it may have few digits."""
    is_mixed = not text.islower() and not text.isupper()
    return looks_random(text) or (is_mixed and len(text) < 40 and _bits(text) >= _MIN_MIXED_BITS)


_CHOSEN: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])(?:(?=.*[A-Z])(?=.*[a-z])|(?=.*[!@#$%^*?]))")


def looks_chosen(text: str) -> bool:
    """Return whether a text looks like a password: digits, and letters of both cases or marks."""
    return not is_placeholder(text) and (looks_random(text) or _CHOSEN.match(text) is not None)


def _is_token(text: str) -> bool:
    """Return whether a text is a JSON web token: its header is JSON and names an algorithm."""
    decoded = _from_base64(text.partition(".")[0])
    try:
        header = msgspec.json.decode(decoded)
    except msgspec.DecodeError:
        return False
    return isinstance(header, dict) and "alg" in header


def _is_name_and_password(text: str) -> bool:
    """Return whether a text is base64 of `name:password` (RFC 7617)."""
    return re.fullmatch(rb"[ -9;-~]{1,100}:[ -~]{1,200}", _from_base64(text)) is not None


def _is_bot_token(text: str) -> bool:
    """Return whether a text is base64 of the decimal id of a bot."""
    return _from_base64(text).isdigit()


def _from_base64(text: str) -> bytes:
    """Return the bytes of a base64 text in either alphabet; none if it is not one."""
    plain = text.rstrip("=").translate(_TO_URL_SAFE)
    try:
        return base64.urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""


_TO_URL_SAFE: Final = str.maketrans("+/", "-_")


def _always(text: str) -> bool:
    return True


_PLACEHOLDERS: Final = re.compile(
    r"[*x.•_-]+|<.*>|\$\{.*|\{\{.*|\$\w+|%\w+%?|sha(?:256|512):.*"
    r"|(?:your|change|replace|dummy|example|redacted|masked|hidden)[-_]?.*|password|undefined",
    re.IGNORECASE | re.DOTALL,
)


_CALL: Final = re.compile(r"[A-Za-z_][\w.]*\(")  # In code: a value that is computed, not written.


def is_placeholder(text: str) -> bool:
    """Return whether a text is a placeholder for a secret: stars, a variable, a digest."""
    return _PLACEHOLDERS.fullmatch(text) is not None


# Keys that are one word: the prefixes that their issuer gives them, and the rest. The formats are
# those that the issuers document, and that gitleaks, trufflehog and detect-secrets look for.
_UUID: Final = rf"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_KEYS: Final = (
    ("API key", "sk-…", r"sk-", rf"{WORD}{{20,200}}"),
    ("payment API key", "sk_live_…", r"[sr]k_(?:live|test)_", rf"{_ALNUM}{{16,200}}"),
    ("webhook secret", "whsec_…", r"whsec_", rf"{_ALNUM}{{24,64}}"),
    ("ElevenLabs API key", "sk_…", r"sk_", rf"{_HEX}{{48}}"),
    ("AWS access key", "AKIA…", r"A(?:KIA|SIA|BIA|CCA|ROA|IDA|3T[A-Z0-9])", r"[A-Z0-9]{16}"),
    ("GitHub token", "gh…_…", r"gh[pousr]_", rf"{_ALNUM}{{36,255}}"),
    ("GitHub token", "github_pat_…", r"github_pat_", rf"{_ALNUM}{{22}}_{_ALNUM}{{59}}"),
    (
        "GitLab token",
        "gl…-…",
        r"(?:gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-|GR1348941)",
        rf"{WORD}{{20,300}}",
    ),
    ("Slack token", "xox…", r"xox[abeoprs]-", r"[A-Za-z0-9-]{15,250}"),
    ("Slack token", "xapp-…", r"xapp-[0-9]-", r"[A-Z0-9]{8,15}-[0-9]{8,16}-[a-z0-9]{30,80}"),
    ("Google API key", "AIza…", r"AIza", rf"{WORD}{{35}}"),
    ("Google client secret", "GOCSPX-…", r"GOCSPX-", rf"{WORD}{{28}}"),
    ("Hugging Face token", "hf_…", r"hf_", rf"{_ALNUM}{{30,60}}"),
    ("npm token", "npm_…", r"npm_", rf"{_ALNUM}{{36}}"),
    ("PyPI token", "pypi-…", r"pypi-AgE", rf"{WORD}{{50,250}}"),
    ("RubyGems API key", "rubygems_…", r"rubygems_", rf"{_HEX}{{48}}"),
    ("Docker token", "dckr_…", r"dckr_(?:pat|oat)_", rf"{WORD}{{27,40}}"),
    ("DigitalOcean token", "do…_v1_…", r"do[opr]_v1_", rf"{_HEX}{{64}}"),
    ("Shopify token", "shp…_…", r"shp(?:at|ca|pa|ss)_", r"[A-Fa-f0-9]{32}"),
    ("Databricks token", "dapi…", r"dapi", rf"{_HEX}{{32}}(?:-[0-9])?"),
    ("Twilio API key", "SK…", r"SK", rf"{_HEX}{{32}}"),
    ("Mailgun API key", "key-…", r"key-", rf"{_HEX}{{32}}"),
    ("Mailchimp API key", "…-us…", rf"{_HEX}{{32}}-us", r"[0-9]{1,2}"),
    ("Brevo API key", "xkeysib-…", r"xkeysib-", rf"{_HEX}{{64}}-{_ALNUM}{{16}}"),
    ("Linear API key", "lin_api_…", r"lin_api_", rf"{_ALNUM}{{40}}"),
    ("Notion token", "ntn_…", r"(?:ntn_|secret_)", rf"{_ALNUM}{{43,46}}"),
    ("Figma token", "figd_…", r"figd_", rf"{WORD}{{30,60}}"),
    ("Postman API key", "PMAK-…", r"PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("New Relic API key", "NRAK-…", r"NRAK-", r"[A-Z0-9]{27}"),
    ("Grafana token", "glsa_…", r"gl(?:sa|c)_", rf"{WORD}{{32,400}}"),
    ("Sentry token", "sntry…_…", r"sntry[su]_", rf"{WORD}{{40,400}}"),
    ("Pulumi token", "pul-…", r"pul-", rf"{_HEX}{{40}}"),
    ("PlanetScale token", "pscale_…", r"pscale_(?:tkn|pw|oauth)_", rf"{WORD}{{32,64}}"),
    ("Supabase token", "sbp_…", r"sbp_", rf"{_HEX}{{40}}"),
    ("Netlify token", "nfp_…", r"nfp_", rf"{_ALNUM}{{36}}"),
    ("Heroku API key", "HRKU-…", r"HRKU-", rf"{WORD}{{36,70}}"),
    ("Atlassian token", "ATATT3…", r"AT(?:ATT3|BB)", rf"{WORD}{{24,250}}"),
    ("Artifactory API key", "AKCp…", r"AKCp", rf"{_ALNUM}{{69}}"),
    ("age secret key", "AGE-SECRET-KEY-1…", r"AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    ("Replicate token", "r8_…", r"r8_", rf"{_ALNUM}{{37}}"),
    ("Groq API key", "gsk_…", r"gsk_", rf"{_ALNUM}{{48,56}}"),
    ("Perplexity API key", "pplx-…", r"pplx-", rf"{_ALNUM}{{40,60}}"),
    ("xAI API key", "xai-…", r"xai-", rf"{_ALNUM}{{70,90}}"),
    ("LangSmith API key", "lsv2_…", r"lsv2_(?:pt|sk)_", rf"{_HEX}{{32}}_{_HEX}{{10}}"),
    ("Pinecone API key", "pcsk_…", r"pcsk_", rf"{_ALNUM}{{5,8}}_{_ALNUM}{{60,70}}"),
    ("Tavily API key", "tvly-…", r"tvly-", r"[A-Za-z0-9-]{28,60}"),
    ("HubSpot token", "pat-…", r"pat-(?:na|eu|ap)[0-9]-", _UUID),
    ("Plaid token", "access-…", r"access-(?:sandbox|development|production)-", _UUID),
    ("Square token", "sq0…", r"sq0(?:atp|csp)-", rf"{WORD}{{22,43}}"),
    ("Facebook token", "EAA…", r"EAA", rf"{_ALNUM}{{100,250}}"),
    ("Alibaba access key", "LTAI…", r"LTAI", rf"{_ALNUM}{{20}}"),
    ("Clojars token", "CLOJARS_…", r"CLOJARS_", r"[a-z0-9]{60}"),
    ("Contentful token", "CFPAT-…", r"CFPAT-", rf"{WORD}{{43}}"),
    ("EasyPost API key", "EZ…", r"EZ[AT]K", rf"{_ALNUM}{{54}}"),
    ("Flutterwave key", "FLWSECK…", r"FLWSECK(?:_TEST)?-", r"[a-h0-9]{12,64}-X"),
    ("Fly.io token", "fo1_…", r"fo1_", rf"{WORD}{{43}}"),
    # The digest in the name of an icon has small letters only.
    ("Infracost API key", "ico-…", r"ico-", rf"(?=[a-z0-9]*[A-Z]){_ALNUM}{{32}}"),
    ("Octopus API key", "API-…", r"API-", r"[A-Z0-9]{26}"),
    ("Prefect API key", "pn…_…", r"pn[ub]_", r"[a-z0-9]{36}"),
    ("ReadMe API key", "rdme_…", r"rdme_", r"[a-z0-9]{70}"),
    ("Shippo token", "shippo_…", r"shippo_(?:live|test)_", rf"{_HEX}{{40}}"),
    ("Sourcegraph token", "sgp_…", r"sgp_", rf"(?:{_HEX}{{16}}_|local_)?{_HEX}{{40}}"),
)
# Of these a long name may have the form, too.
_LOOSE: Final = frozenset(
    ("API key", "GitLab token", "Slack token", "Grafana token", "Sentry token", "Atlassian token",
     "Tavily API key", "Heroku API key", "Docker token", "PlanetScale token", "Figma token",
     "Octopus API key")
)  # fmt: skip
# A key is a whole word, so the words of a text are searched once for all formats.
SHORTEST_KEY: Final = 20
LONG_WORD: Final = re.compile(rf"{WORD}{{{SHORTEST_KEY},}}", re.ASCII)
KEY_START: Final = re.compile("|".join(prefix for *_, prefix, _ in _KEYS), re.ASCII)
_KEY_PATTERNS: Final = tuple(
    re.compile(f"{prefix}({rest})", re.ASCII) for *_, prefix, rest in _KEYS
)


def _find_keys(text: str) -> Iterator[SensitiveMatch]:
    for word in LONG_WORD.finditer(text):
        start, end = word.span()
        if KEY_START.match(text, start):
            for (kind, shown, *_), pattern in zip(_KEYS, _KEY_PATTERNS, strict=True):
                match = pattern.fullmatch(text, start, end)
                if match and (kind not in _LOOSE or _looks_issued(match[1])):
                    yield SensitiveMatch(kind, shown, start, end)
                    break


def _secret_format(
    kind: str, shown: str, marks: str, body: str, holds: Callable[[str], bool] = _always
) -> _SecretFormat:
    return _SecretFormat(kind, shown, tuple(marks.split("|")), re.compile(body, re.ASCII), holds)


# Secrets that are more than one word.
_SECRET_FORMATS: Final = (
    _secret_format(
        "JSON web token",
        "eyJ…",
        "eyj",
        rf"(?<![\w-])eyJ{WORD}{{6,2000}}\.eyJ{WORD}{{4,8000}}\.{WORD}{{20,2000}}{_RIGHT}",
        _is_token,
    ),
    _secret_format(
        "private key",
        "-----BEGIN …",
        "private key|putty-user-key-file",
        r"-----BEGIN (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[0-9]: ",
    ),
    _secret_format(
        "bearer token",
        "Bearer …",
        "bearer ",
        r"(?<![A-Za-z0-9])[Bb][Ee][Aa][Rr][Ee][Rr] {1,4}([A-Za-z0-9._~+/-]{16,4000}=*)",
        looks_random,
    ),
    _secret_format(
        "password in a header",
        "Basic …",
        "basic ",
        r"(?<![A-Za-z0-9])[Bb][Aa][Ss][Ii][Cc] {1,4}([A-Za-z0-9+/]{6,4000}={0,2})",
        _is_name_and_password,
    ),
    _secret_format(
        "password in an address",
        "://…:…@",
        "://",
        r"(?<=://)[^\s/:@\"'<>]{0,100}:([^\s/@\"'<>]{3,200})@",
        lambda text: not is_placeholder(text),
    ),
    _secret_format(
        "webhook address",
        "https://…",
        "hooks.slack.com/|/api/webhooks/|.webhook.office.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,100}"
        rf"|discord(?:app)?\.com/api/webhooks/[0-9]{{17,20}}/{WORD}{{60,70}}"
        rf"|\.webhook\.office\.com/webhookb2/{_UUID}@{_UUID}/",
    ),
    _secret_format(
        "SendGrid API key", "SG.…", "sg.", rf"(?<![\w-])SG\.{WORD}{{22}}\.{WORD}{{43}}{_RIGHT}"
    ),
    _secret_format(
        "Vault token", "hvs.…", "hvs.|hvb.|hvr.", rf"(?<![\w-])hv[sbr]\.{WORD}{{24,300}}{_RIGHT}"
    ),
    _secret_format(
        "Terraform token", "….atlasv1.…", ".atlasv1.", rf"\.atlasv1\.{WORD}{{60,70}}{_RIGHT}"
    ),
    _secret_format(
        "Doppler token",
        "dp.…",
        "dp.",
        rf"(?<![\w-])dp\.(?:pt|st|ct|sa|scim|audit)\.{_ALNUM}{{40,64}}{_RIGHT}",
    ),
    _secret_format(
        "Google access token",
        "ya29.…",
        "ya29.",
        rf"(?<![\w-])ya29\.({WORD}{{24,2000}})",
        looks_random,
    ),
    _secret_format(
        "1Password service token", "ops_eyJ…", "ops_eyj", r"(?<![\w-])ops_eyJ[A-Za-z0-9+/]{200,}"
    ),
    _secret_format("Fly.io token", "fm2_…", "fm2_", r"(?<![\w-])fm2_[A-Za-z0-9+/]{100,}"),
    _secret_format(
        "OpenShift token", "sha256~…", "sha256~", rf"(?<![\w-])sha256~{WORD}{{43}}{_RIGHT}"
    ),
    _secret_format(
        "Dynatrace token",
        "dt0….…",
        "dt0",
        rf"(?<![\w-])dt0[a-zA-Z][0-9]{{2}}\.[A-Z0-9]{{24}}\.[A-Z0-9]{{64}}{_RIGHT}",
    ),
    _secret_format(
        "Airtable token", "pat….…", "pat", rf"(?<![\w-])pat{_ALNUM}{{14}}\.{_HEX}{{64}}{_RIGHT}"
    ),
    _secret_format(
        "Discord bot token",
        "….….…",
        ".",
        rf"(?<![\w-])([MNO]{WORD}{{23,27}})\.{WORD}{{6}}\.{WORD}{{27,38}}{_RIGHT}",
        _is_bot_token,
    ),
    _secret_format(
        "Telegram bot token", "…:AA…", ":aa", rf"(?<![\w-])[0-9]{{8,10}}:AA{WORD}{{33}}{_RIGHT}"
    ),
    _secret_format(
        "Azure client secret", "…Q~…", "q~", r"(?<![\w~.-])[\w~.]{3}[0-9]Q~[\w~.-]{31,34}(?![\w~-])"
    ),
    _secret_format(
        "Azure account key",
        "…Key=…",
        "accountkey=|accesskey=|sig=",
        r"(?:Account|SharedAccess|Access)Key=([A-Za-z0-9+/]{43,88}={1,2})|[?&]sig=[A-Za-z0-9%+/]{40,64}",
    ),
    _secret_format(
        "AWS secret key",
        "…=…",
        "aws",
        r"(?i:aws[\w.-]{0,20}(?:secret|key)[\w.-]{0,20})[\"']?\s{0,3}[=:]>?\s{0,3}[\"']?"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        lambda text: _bits(text) >= _MIN_DRAWN_BITS,
    ),
    _secret_format(
        "password in a text",
        "…=…",
        "pass|pwd",
        r"(?<![A-Za-z0-9])(?i:pass(?:word|wd|phrase)?|pwd)[\"']?\s{0,3}[=:]\s{0,3}[\"']?"
        r"([^\s\"'&,;]{8,500})",
        looks_chosen,
    ),
    _secret_format(
        "assigned secret",
        "…=…",
        "secret|token|key",
        r"(?<![A-Za-z0-9])(?<!(?i:page)[_-])(?<!(?i:next)[_-])(?<!(?i:tion)[_-])(?<!(?i:sync)[_-])"
        r"(?i:secret|token|(?:api|access|account|auth|encryption|private|secret|signing)"
        r"[_-]?key)[\"']?\s{0,3}[=:]\s{0,3}[\"']?([^\s\"'&,;]{8,500})",
        lambda text: looks_random(text) and not is_placeholder(text) and not _CALL.match(text),
    ),
)
_MIN_DRAWN_BITS: Final = 4.0  # Of 40 letters that were drawn; hex digests have less.


def find_secrets(text: str) -> Iterator[SensitiveMatch]:
    """Yield every secret in a text; of two that overlap, that of the first format."""
    taken: list[SensitiveMatch] = []
    lowered = text.lower()
    formats = [form for form in _SECRET_FORMATS if any(mark in lowered for mark in form.marks)]
    for found in (_find_keys(text), *(_find_form(form, text) for form in formats)):
        # Both lists are in the order of the text, so one walk compares them.
        free = list(_without_overlaps(found, taken))
        yield from free
        taken = sorted([*taken, *free], key=lambda match: match.start)


def _find_form(form: _SecretFormat, text: str) -> Iterator[SensitiveMatch]:
    for match in form.pattern.finditer(text):
        body = match[match.lastindex or 0]
        if form.holds(body):
            yield SensitiveMatch(form.kind, form.shown, *match.span())


def _without_overlaps(
    found: Iterable[SensitiveMatch], taken: Sequence[SensitiveMatch]
) -> Iterator[SensitiveMatch]:
    at = 0
    for match in found:
        while at < len(taken) and taken[at].end <= match.start:
            at += 1
        if at == len(taken) or taken[at].start >= match.end:
            yield match


# Names of fields whose text is a secret in any form, without case and separators.
_SECRET_NAMES: Final = frozenset(
    (
        "password",
        "passwd",
        "passphrase",
        "secret",
        "apikey",
        "xapikey",
        "accesstoken",
        "refreshtoken",
        "authtoken",
        "clientsecret",
        "privatekey",
        "secretkey",
        "secretaccesskey",
        "awssecretaccesskey",
        "sessiontoken",
        "bearertoken",
        "idtoken",
    )
)
# The ends of names whose text is a secret if it looks like one: db_password, STRIPE_API_KEY.
_SECRET_NAME_ENDS: Final = (
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
)
# The names of places in a list of pages, which look as random.
_PAGING_NAME_ENDS: Final = (
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "paginationtoken",
    "synctoken",
)
_LONGEST_NAME: Final = 60  # No longer name is taken for that of a secret.
_SEPARATORS: Final = str.maketrans("", "", "_-. ")
MIN_SECRET_LETTERS: Final = 8


def is_secret_by_name(name: str, text: str) -> bool:
    """Return whether the name of a field marks its text as a secret, and the text may be one."""
    if len(name) > _LONGEST_NAME or len(text) < MIN_SECRET_LETTERS:
        return False
    plain = name.translate(_SEPARATORS).lower()
    if not plain.endswith(_SECRET_NAME_ENDS) and plain not in _SECRET_NAMES:
        return False
    if plain.endswith(_PAGING_NAME_ENDS):
        return False
    is_said = plain in _SECRET_NAMES or looks_random(text)
    return is_said and " " not in text and not is_placeholder(text)
