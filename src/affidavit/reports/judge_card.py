"""The model card: fixed text, the measured figures and the manifest of the weights.

Three files of the package: `judge/card.md` (the text), `judge/card.json` (the figures) and, where
there are weights, the manifest of the package `affidavit_encoder`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any, Final, Literal

import msgspec

NOT_MEASURED: Final = "Not measured yet, so no figure stands here."
_NO_CURVE: Final = "Not measured yet, so no curve stands here."
_NO_WEIGHTS: Final = "The weights of this judge are not installed: use `--judge fast`."
_PACKAGE: Final = "affidavit.judge"
_WEIGHTS: Final = "affidavit_encoder"
_PLACE: Final = re.compile(r"\{\{ (\w+) \}\}")
FIGURE_COLUMNS: Final = ("Set", "Figure", "n", "Value", "95%", "Target", "Met")


class CardFigureV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One figure on one set. A value that was not measured is null."""

    set: str
    n: int
    figure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    target: float | None = None
    better: Literal["higher", "lower"] = "higher"

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None where there is no target or no figure."""
        if self.value is None or self.target is None:
            return None
        if self.better == "higher":
            return self.value >= self.target
        return self.value <= self.target


class CardBinV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bin of a reliability diagram."""

    low: float
    high: float
    count: int
    mean_score: float | None
    share: float | None


class CardCurveV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The calibration of one set."""

    set: str
    bins: tuple[CardBinV1, ...]


class CardJudgeV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The judge that was measured."""

    name: str
    version: str
    digest: str


class CardV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The measured figures: `card.json`."""

    schema: Literal["affidavit/judge-card/1"]
    judge: CardJudgeV1 | None
    figures: tuple[CardFigureV1, ...]
    calibration: tuple[CardCurveV1, ...]


class WeightsFileV1(msgspec.Struct, frozen=True):
    """A file of the weights."""

    bytes: int
    sha256: str


class WeightsManifestV1(msgspec.Struct, frozen=True):
    """The part of the weights' manifest that the card shows."""

    files: dict[str, WeightsFileV1]
    max_tokens: int


class Card(msgspec.Struct, frozen=True):
    """The data of the card."""

    measured: CardV1
    manifest: WeightsManifestV1 | None
    text: str


def load_card() -> Card:
    """Return the card of this installation."""
    package = files(_PACKAGE)
    return Card(
        msgspec.json.decode((package / "card.json").read_bytes(), type=CardV1),
        _weights_manifest(),
        (package / "card.md").read_text("utf-8"),
    )


def _weights_manifest() -> WeightsManifestV1 | None:
    try:
        manifest = files(_WEIGHTS) / "manifest.json"
    except ModuleNotFoundError:
        return None
    return msgspec.json.decode(manifest.read_bytes(), type=WeightsManifestV1)


def card_pieces(card: Card) -> Iterator[tuple[str | None, str]]:
    """Yield the page in pieces: its fixed text, and the parts that are filled in by name."""
    parts = {
        "identity": _identity(card.measured.judge),
        "figures": _figures(card.measured.figures),
        "calibration": _curves(card.measured.calibration),
        "manifest": _manifest(card.manifest),
    }
    fixed, *rest = _PLACE.split(card.text)
    yield None, fixed
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        yield name, parts[name]
        yield None, text


def card_markdown(card: Card) -> str:
    """Return the card as a page in Markdown."""
    return "".join(text for _, text in card_pieces(card))


def card_as_wire(card: Card) -> dict[str, Any]:
    """Return the card for machines, without its text."""
    measured: dict[str, Any] = msgspec.to_builtins(card.measured)
    return {**measured, "weights": msgspec.to_builtins(card.manifest)}


def _identity(judge: CardJudgeV1 | None) -> str:
    if judge is None:
        return "Nothing has been measured yet, so this card names no version."
    return f"Measured was `{judge.name}` version {judge.version}, `{judge.digest}`."


def _figures(figures: Sequence[CardFigureV1]) -> str:
    return markdown_table(FIGURE_COLUMNS, map(figure_row, figures)) if figures else NOT_MEASURED


def figure_row(figure: CardFigureV1) -> tuple[str, ...]:
    """Return the row of a figure."""
    interval = "–"
    if figure.low is not None and figure.high is not None:
        interval = f"{figure.low:g} to {figure.high:g}"
    sign = "≥" if figure.better == "higher" else "≤"
    return (
        figure.set,
        figure.figure,
        str(figure.n),
        "not measured" if figure.value is None else f"{figure.value:g}",
        interval,
        "–" if figure.target is None else f"{sign} {figure.target:g}",
        {None: "–", True: "yes", False: "no"}[figure.is_met],
    )


def _curves(curves: Sequence[CardCurveV1]) -> str:
    if not curves:
        return _NO_CURVE
    columns = [f"{each.low:g}–{each.high:g}" for each in curves[0].bins]
    rows = ((curve.set, *map(_bin, curve.bins)) for curve in curves)
    table = markdown_table(("set", *columns), rows)
    return (
        "Of the claims whose probability of support lies in a bin (with the prior set to the base\n"
        "rate of the set), so many in a hundred were supported, of so many claims. A share should\n"
        f"lie between the two ends of its column.\n\n{table}"
    )


def _bin(each: CardBinV1) -> str:
    return "–" if each.share is None else f"{100 * each.share:.0f} of {each.count}"


def _manifest(manifest: WeightsManifestV1 | None) -> str:
    if manifest is None:
        return _NO_WEIGHTS
    rows = (
        (f"`{name}`", f"{file.bytes / 1e6:.1f} MB", f"`sha256:{file.sha256}`")
        for name, file in sorted(manifest.files.items())
    )
    table = markdown_table(("file of the weights", "size", "digest"), rows)
    return (
        f"{table}\n\nTheir `manifest.json` names the digests of the data and of the code that"
        f" trained them.\nA window has at most {manifest.max_tokens} tokens."
    )


def markdown_table(heads: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown; a bar inside a cell would end it."""
    lines = (heads, ("---",) * len(heads), *rows)
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )
