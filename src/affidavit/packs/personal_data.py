"""Personal data in a text: only forms that can be checked, by checksum or by their own grammar."""

import re
from collections.abc import Iterator
from typing import Final

from affidavit.packs.secrets import Match

_EMAIL: Final = re.compile(
    r"(?<![\w.%+/:@-])[A-Za-z0-9](?:[\w.%+-]{0,62}[A-Za-z0-9_])?"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![\w@-]|\.\w)",
    re.ASCII,
)
# RFC 2606 and RFC 6761: these belong to nobody.
_NOBODYS: Final = re.compile(
    r"(?:.*\.)?(?:example\.(?:com|net|org)|example|test|invalid|localhost|local)", re.IGNORECASE
)
_NO_PERSON: Final = re.compile(r"(?:git|no-?reply|donotreply|postmaster|mailer-daemon)@", re.I)

_IBAN: Final = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])", re.ASCII
)
# Letters in an IBAN by country: SWIFT's registry.
_IBAN_SIZES: Final = {
    code: int(size)
    for size, codes in {
        "15": "NO", "16": "BE", "18": "DK FI FO GL NL SD", "19": "MK SI",
        "20": "AT BA EE KZ LT LU XK", "21": "CH HR LI LV", "22": "BG BH CR DE GB GE IE ME RS VA",
        "23": "AE GI IL IQ TL", "24": "AD CZ ES MD PK RO SA SE SK TN VG", "25": "LY PT ST",
        "26": "IS TR", "27": "BI DJ FR GR IT MC MR SM", "28": "AL AZ BY CY DO GT HU LB NI PL SV",
        "29": "BR EG PS QA UA", "30": "JO KW MU", "31": "MT SC", "32": "LC", "33": "RU",
    }.items()
    for code in codes.split()
}  # fmt: skip

_CARD: Final = re.compile(
    r"(?<![\w.+-])(?:[0-9]{13,19}|[0-9]{4}(?:[ -][0-9]{4}){3}|3[0-9]{3}[ -][0-9]{6}[ -][0-9]{5})"
    r"(?![\w-]|\.[0-9])",
    re.ASCII,
)
# Issuers' first digits and lengths (ISO/IEC 7812): a long number of any other form is an id.
_ISSUERS: Final = re.compile(
    r"4[0-9]{12}(?:[0-9]{3}){0,2}|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]"
    r"|720)[0-9]{12}|3[47][0-9]{13}|6(?:011|4[4-9][0-9]|5[0-9]{2})[0-9]{12}|35[0-9]{14}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}",
    re.ASCII,
)

# Only as E.164 writes it: a plus, the country, and groups that are kept apart by single marks.
_PHONE: Final = re.compile(
    r"(?<![\w+.-])\+[1-9][0-9]{0,2}(?:[ .-]?\([0-9]{1,4}\))?(?:[ .-]?[0-9]{2,12}){1,5}"
    r"(?![\w-]|\.[0-9])",
    re.ASCII,
)


def personal_data_in(text: str) -> Iterator[Match]:
    """Yield every piece of personal data in a text."""
    for kind, shown, pattern, holds in _FORMS:
        for match in pattern.finditer(text):
            if holds(match[0]):
                yield Match(kind, shown, *match.span())


def _is_persons(address: str) -> bool:
    domain = address.rpartition("@")[2]
    return not _NOBODYS.fullmatch(domain) and not _NO_PERSON.match(address)


def _is_phone(text: str) -> bool:
    """Check E.164: at most 15 digits; fewer than 10 are too easily something else."""
    return 10 <= sum(map(str.isdigit, text)) <= 15


def _is_iban(grouped: str) -> bool:
    """Check ISO 13616: the length of its country, and the remainder 1 of the division by 97."""
    text = grouped.replace(" ", "")
    if _IBAN_SIZES.get(text[:2]) != len(text):
        return False
    return int("".join(str(int(letter, 36)) for letter in text[4:] + text[:4])) % 97 == 1


def _is_card(grouped: str) -> bool:
    """Check an issuer's form and Luhn's sum."""
    digits = grouped.replace(" ", "").replace("-", "")
    if not _ISSUERS.fullmatch(digits):
        return False
    doubled = (sum(divmod(int(digit) * 2, 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


_FORMS: Final = (
    ("e-mail address", "…@…", _EMAIL, _is_persons),
    ("bank account number", "…", _IBAN, _is_iban),
    ("payment card number", "…", _CARD, _is_card),
    ("telephone number", "+…", _PHONE, _is_phone),
)
