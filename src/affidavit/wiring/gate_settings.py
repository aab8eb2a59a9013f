"""What the tables `[gates.*]` of a config file may hold, one shape for each gate."""

from typing import Annotated

import msgspec

from affidavit.gates.rag_scoring import DEFAULT_K, REFUSAL
from affidavit.gates.tradeoff import SLOWER_BY, WORSE_BY

Name = Annotated[str, msgspec.Meta(min_length=1)]
Names = Name | tuple[Name, ...]
"""One file or several."""
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class GateV1(msgspec.Struct, frozen=True, kw_only=True):
    """What every gate takes."""

    gates: str | tuple[str, ...] = ()
    skip_bad: bool = False
    fail_on_regression: Name | None = None


class RagV1(GateV1, frozen=True, kw_only=True):
    """`[gates.rag]`."""

    trace: Names
    gold: Names = ()
    k: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = DEFAULT_K
    refusal: Name = REFUSAL
    scu_enforced: bool = False
    scu_rules: Name | None = None
    expect_gold_digest: Name | None = None
    allow_missing: bool = False
    jobs: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1


class LatencyV1(GateV1, frozen=True, kw_only=True):
    """`[gates.latency]`; `accuracy` is a report of gate rag, or one for each configuration."""

    rows: Names
    rps: Positive | None = None
    accuracy: Name | dict[str, Name] | None = None
    slower_by: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = SLOWER_BY
    worse_by: Share = WORSE_BY


class AgreementV1(GateV1, frozen=True, kw_only=True):
    """`[gates.agreement]`: pairs, or the labels of both agents."""

    pairs: Names = ()
    scholar: Name | None = None
    auditor: Name | None = None
    allow_missing: bool = False


class StabilityV1(GateV1, frozen=True, kw_only=True):
    """`[gates.stability]`, over recorded runs."""

    gold: Name
    runs: Names
    refusal: Name = REFUSAL
    expect_gold_digest: Name | None = None
    allow_missing: bool = False


class ResearchV1(GateV1, frozen=True, kw_only=True):
    """`[gates.research]`."""

    golden: Name
    outputs: Name
    allow_missing: bool = False


AnyGate = RagV1 | LatencyV1 | AgreementV1 | StabilityV1 | ResearchV1
