"""What only one kind of gate reports: latency by load, the confusion of labels, runs, questions."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final

import msgspec

Share = float | None
Count = Annotated[int, msgspec.Meta(ge=0)]


class RagOffenderV1(msgspec.Struct, frozen=True):
    """A question that came out wrong."""

    qid: str
    why: str
    failed: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()
    question: str = ""
    claim: str = ""
    citations: tuple[str, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None
    gold_citations: tuple[str, ...] = ()


class DisagreementV1(msgspec.Struct, frozen=True):
    """A question on which two agents differ."""

    qid: str
    scholar: str
    auditor: str
    final: str
    why: str


class QuestionV1(msgspec.Struct, frozen=True):
    """A question over its runs."""

    qid: str
    answerable: bool
    runs: Count
    no_answer: Count = 0
    acr: Share = None
    cghc: Share = None
    css: Share = None
    ned50: Share = None
    rcr: Share = None
    refused: Count = 0
    scu_cons: bool | None = None
    failed: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()


Offender = RagOffenderV1 | DisagreementV1 | QuestionV1


class PercentilesV1(msgspec.Struct, frozen=True):
    """The latencies of one load, configuration or stage."""

    n: Count
    p50_ms: float | None = None
    p90_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    tail_amplification: float | None = None


class ConfigurationV1(msgspec.Struct, frozen=True):
    """What one setting of the knobs costs and gives."""

    config: str
    p95_ms: float | None = None
    precision: float | None = None
    passes: bool = False


class TradeoffV1(msgspec.Struct, frozen=True):
    """Which configurations are worth having."""

    frontier: tuple[ConfigurationV1, ...] = ()
    dominated: tuple[str | ConfigurationV1, ...] = ()
    not_measured: tuple[str, ...] = ()
    interactive: str | None = None
    batch: str | None = None


class LatencyV1(msgspec.Struct, frozen=True):
    """Latencies by what they were measured under."""

    load: dict[str, PercentilesV1] = {}
    config: dict[str, PercentilesV1] = {}
    stage: dict[str, PercentilesV1] = {}
    tradeoff: TradeoffV1 | None = None


class PairCountV1(msgspec.Struct, frozen=True):
    """How often two labels were given to the same question."""

    scholar: str
    auditor: str
    count: Count


class AgreementV1(msgspec.Struct, frozen=True):
    """The confusion of two agents' labels."""

    confusion: tuple[PairCountV1, ...] = ()
    base_rate: float | None = None
    expected_agreement: float | None = None
    disagreements: Count = 0


class RunCountsV1(msgspec.Struct, frozen=True):
    """How the runs of one seed and jitter came out."""

    seed: int
    jitter: str
    right: Count = 0
    wrong: Count = 0
    not_measured: Count = 0


class StabilityV1(msgspec.Struct, frozen=True):
    """Questions over their runs, and runs over their questions."""

    questions: tuple[QuestionV1, ...] = ()
    by_run: tuple[RunCountsV1, ...] = ()


class FigureV1(msgspec.Struct, frozen=True):
    """A figure of one run."""

    value: float | None = None
    numerator: Count | None = None
    denominator: Count | None = None
    not_measured: Count = 0


class RunV1(msgspec.Struct, frozen=True):
    """A research run and its figures."""

    run_id: str
    query: str | None = None
    metrics: dict[str, FigureV1] = {}


class ResearchV1(msgspec.Struct, frozen=True):
    """Research runs, one by one."""

    runs: tuple[RunV1, ...] = ()


class NothingV1(msgspec.Struct, frozen=True):
    """A kind of gate that has nothing of its own."""


Details = LatencyV1 | AgreementV1 | StabilityV1 | ResearchV1 | NothingV1

_DETAILS: Final[Mapping[str, type[Details]]] = MappingProxyType(
    {
        "latency": LatencyV1,
        "agreement": AgreementV1,
        "stability": StabilityV1,
        "research": ResearchV1,
    }
)
_OFFENDERS: Final[Mapping[str, type[Offender]]] = MappingProxyType(
    {"rag": RagOffenderV1, "agreement": DisagreementV1, "stability": QuestionV1}
)


def details_of(kind: str, details: Mapping[str, Any]) -> Details:
    """Return what only this kind of gate reports."""
    return msgspec.convert(details, _DETAILS.get(kind, NothingV1))


def offenders_of(kind: str, offenders: Sequence[Mapping[str, Any]]) -> tuple[Offender, ...]:
    """Return the offenders of a kind of gate; a kind that names none has none to show."""
    form = _OFFENDERS.get(kind)
    return () if form is None else tuple(msgspec.convert(each, form) for each in offenders)
