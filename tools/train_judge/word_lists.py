"""The word lists of the rules, one entry per line in `words/`; lines with `#` are remarks."""

from pathlib import Path

_FOLDER = Path(__file__).parent / "words"


def words(name: str) -> list[str]:
    """The entries of one list, in order."""
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def word_pairs(name: str) -> list[tuple[str, str]]:
    """The entries of a list of pairs."""
    return [(first, second) for first, second in (entry.split() for entry in words(name))]
