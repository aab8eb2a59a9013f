"""Texts that nobody wrote for a reader: a verdict for each, in a time that grows with the text."""

import time

import pytest
from tests.judge.reading import read

CLAIM = "Employees are entitled to 15 days of annual leave."
PROSE = "All permanent employees shall receive 15 days of paid annual leave. Unused leave lapses. "
MEGABYTE = 1_000_000

SHAPES = {
    "prose": PROSE,
    "no full stops": "employees days annual leave entitled ",
    "digits": "1234567890",
    "numbers": "15 20 25 ",
    "number words": "one hundred and ",
    "one endless word": "a",
    "marks": ",.;:!?",
    "brackets": "(",
    "line breaks": "\n",
    "key and value": "Leave: 15 days\n",
    "table rows": "| employees | 15 days |\n",
    "acronyms": "Alpha Beta (AB) ",
    "negations": "not no never ",
    "conditions": "if unless ",
    "hyphens": "a-",
    "apostrophes": "a'",
    "slashes": "1/2/",
    "dots": "a.",
    "code": 'def leave(x):\n    return x["days"] + 15  # annual\n',
    "Chinese": "员工每年享有15天带薪年假。",
    "emoji": "🎉🏖️ 15 days 👩‍👩‍👧 ",
    "combining marks": "e\u0301\u0302 ",
    "control characters": "\x00\x1b[31m\u202e ",
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_megabyte_is_read_in_time(shape: str) -> None:
    text = shape * (MEGABYTE // len(shape))
    begun = time.process_time()
    read(CLAIM, text)
    # A guard against what grows with the square, not a measurement: it takes about 3 seconds.
    assert time.process_time() - begun < 60


CLAIMS = {
    "numbers": "15 days " * 500,
    "one word again and again": "employees " * 900,
    "names": " ".join(f"N{chr(97 + n % 26)}{chr(97 + n // 26)}x" for n in range(500)),
    "sentences": PROSE * 100,
    "marks": "?!" * 2000,
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
def test_a_long_claim_is_judged_in_time(claim: str) -> None:
    begun = time.process_time()
    read(claim, PROSE * 50 + claim[::-1])
    assert time.process_time() - begun < 60


ODD = {
    "empty": ("", ""),
    "empty evidence": (CLAIM, ""),
    "empty claim": ("", PROSE),
    "blank": ("  \n", "\t\n \n"),
    "lone surrogate": ("\ud800 annual leave", "\ud800 annual leave is paid"),
    "zero width": ("Emp\u200bloyees get 15 days", PROSE),
    "superscript": ("x² + y² = 15²", "x² + y² = 15² holds"),
    "Arabic digits": ("The fee is ٣٥ euros", "The fee is 35 euros."),
    "fraction sign": ("½ cup", "½ cup of sugar"),
    "right to left": ("يحق للموظفين 15 يومًا", "يحق للموظفين 15 يومًا من الإجازة"),
    "German": ("Mitarbeiter haben 15 Tage", "Alle Mitarbeiter haben 15 Tage Urlaub."),
}


@pytest.mark.parametrize(("claim", "text"), ODD.values(), ids=ODD.keys())
def test_odd_input_gets_a_reading(claim: str, text: str) -> None:
    reading = read(claim, text)
    assert reading.notes
    assert text[reading.snippet_span.start : reading.snippet_span.end] == reading.snippet


def test_a_changed_number_is_seen_in_any_language() -> None:
    text = "Alle Mitarbeiter haben Anspruch auf 15 Tage Urlaub im Jahr."
    assert read("Mitarbeiter haben Anspruch auf 20 Tage Urlaub", text).contradicts
    assert not read("Mitarbeiter haben Anspruch auf 15 Tage Urlaub", text).contradicts
