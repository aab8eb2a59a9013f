"""The thresholds of the ledger as one value with a digest, and the file that may set them."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.config import ConfigFaults, parse_toml
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.statistics.arithmetic import rounded
from affidavit.base.statistics.classification import with_prior
from affidavit.decision.gate import Gate
from affidavit.ledger.gates import DEFAULT_GATES, override_ledger_gates
from affidavit.ledger.importance import DEFAULT_THRESHOLDS, ImportanceThresholds
from affidavit.ledger.model import Verdict

# What the probabilities of a judge must reach, as the user may set it: the table `[judge]`.

_SCORE_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class JudgeThresholds:
    """Bounds on a calibrated support and contradiction, both from 0 to 1.

    A judge's support is the probability that a claim is supported where half of all claims are.
    `prior` is the share that is supported where the rules are used: the support is shifted to it
    before it is compared. Scores are compared with four decimals, so that a difference in the last
    bits between two machines decides nothing.
    """

    supported_from: float = 0.5
    weak_from: float = 0.25
    contradicted_from: float = 0.5
    prior: float = 0.5

    def shifted(self, support: float) -> float:
        """Return the support with the prior, rounded as it is compared and shown."""
        return rounded(with_prior(support, self.prior), _SCORE_DECIMALS)

    def verdict(self, support: float, contradiction: float) -> Verdict:
        """Return the verdict on a claim. Support is unshifted; a contradiction goes first."""
        if rounded(contradiction, _SCORE_DECIMALS) >= self.contradicted_from:
            return Verdict.CONTRADICTED
        shifted = self.shifted(support)
        if shifted >= self.supported_from:
            return Verdict.SUPPORTED
        return Verdict.WEAK if shifted >= self.weak_from else Verdict.NOT_FOUND


# The thresholds of the ledger as one value, with a digest, and the file that may set them.
#
# A rules file is TOML; what it does not name keeps its default; what it names wrongly is an error
# that says which field. Rules R1 to R3 of docs/ledger.md.

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Prior = Annotated[float, msgspec.Meta(gt=0, lt=1)]


@dataclass(frozen=True, slots=True)
class LedgerRules:
    """Every number that a verdict, a flag or a decision depends on."""

    supported_above: float = 0.85
    """Full support is `supported` only above this similarity: section 4.2."""
    match_from: float = 0.0
    """A supporting reading below this similarity is no match."""
    contradicted_from: float = 0.0
    """A contradicting reading below this score is no match; 0 takes the judge's word."""
    importance: ImportanceThresholds = DEFAULT_THRESHOLDS
    outdated_after_days: int = 365
    low_confidence_below: float = 0.6
    ambiguous_margin: float = 0.1
    """Readings this close to the best one count as top readings."""
    torn_from: float = 0.5
    """A reading is torn if it scores at least this both for and against the claim."""
    gates: tuple[Gate, ...] = DEFAULT_GATES
    judge: JudgeThresholds | None = None
    """What the judge's probabilities must reach; None leaves it to the judge."""


DEFAULT_RULES: Final = LedgerRules()


class _RulesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the rules file: a key that it does not know is an error."""


class VerdictRulesV1(_RulesTable, frozen=True):
    """The table `[verdict]`."""

    supported_above: Share = DEFAULT_RULES.supported_above
    match_from: Share = DEFAULT_RULES.match_from
    contradicted_from: Share = DEFAULT_RULES.contradicted_from


class ImportanceRulesV1(_RulesTable, frozen=True):
    """The table `[importance]`."""

    critical_from: int = DEFAULT_RULES.importance.critical_from
    material_from: int = DEFAULT_RULES.importance.material_from


class RiskRulesV1(_RulesTable, frozen=True):
    """The table `[risk]`."""

    outdated_after_days: Annotated[int, msgspec.Meta(ge=0)] = DEFAULT_RULES.outdated_after_days
    low_confidence_below: Share = DEFAULT_RULES.low_confidence_below
    ambiguous_margin: Share = DEFAULT_RULES.ambiguous_margin
    torn_from: Share = DEFAULT_RULES.torn_from


class JudgeRulesV1(_RulesTable, frozen=True):
    """The table `[judge]`, as `affidavit judge calibrate` writes it."""

    supported_from: Share = JudgeThresholds().supported_from
    weak_from: Share = JudgeThresholds().weak_from
    contradicted_from: Share = JudgeThresholds().contradicted_from
    prior: Prior = JudgeThresholds().prior


class RulesV1(_RulesTable, frozen=True):
    """The rules file. `gates` are changes to the default gates, written as for `--gate`.

    Without a table `[judge]` nothing is written of it, so rules that never had one keep their
    digest.
    """

    gates: tuple[str, ...] = ()
    verdict: VerdictRulesV1 = VerdictRulesV1()
    importance: ImportanceRulesV1 = ImportanceRulesV1()
    risk: RiskRulesV1 = RiskRulesV1()
    judge: JudgeRulesV1 | msgspec.UnsetType = msgspec.UNSET


def rules_from_toml(data: bytes, file: str | None = None) -> LedgerRules:
    """Return the rules of a rules file. `file` is its name, for messages."""
    document = parse_toml(data, file, ConfigFaults(faults.RULES_SYNTAX, faults.RULES_FIELD))
    wire = document.decode(RulesV1, document.value)
    try:
        return rules_from_wire(wire)
    except AffidavitError as error:
        raise document.locate(error.at(field="gates")) from None


def rules_from_wire(wire: RulesV1) -> LedgerRules:
    """Return the rules that `wire` stands for; raise if a kind of result could not be reached."""
    if wire.importance.material_from > wire.importance.critical_from:
        raise AffidavitError(
            faults.RULES_FIELD,
            Where(field="importance.material_from"),
            problem="material_from is above critical_from, so no claim could be material",
        )
    return LedgerRules(
        wire.verdict.supported_above,
        wire.verdict.match_from,
        wire.verdict.contradicted_from,
        ImportanceThresholds(wire.importance.critical_from, wire.importance.material_from),
        wire.risk.outdated_after_days,
        wire.risk.low_confidence_below,
        wire.risk.ambiguous_margin,
        wire.risk.torn_from,
        override_ledger_gates(wire.gates),
        _thresholds_from_wire(wire.judge),
    )


def _thresholds_from_wire(wire: JudgeRulesV1 | msgspec.UnsetType) -> JudgeThresholds | None:
    if isinstance(wire, msgspec.UnsetType):
        return None
    if wire.weak_from > wire.supported_from:
        raise AffidavitError(
            faults.RULES_FIELD,
            Where(field="judge.weak_from"),
            problem="weak_from is above supported_from, so no claim could be weak",
        )
    return JudgeThresholds(wire.supported_from, wire.weak_from, wire.contradicted_from, wire.prior)


def rules_to_wire(rules: LedgerRules) -> RulesV1:
    """Return the rules as a rules file would say them, every gate spelled out."""
    kept = {gate.key for gate in rules.gates}
    off = (f"{gate.key}=off" for gate in DEFAULT_GATES if gate.key not in kept)
    return RulesV1(
        (*map(str, rules.gates), *off),
        VerdictRulesV1(rules.supported_above, rules.match_from, rules.contradicted_from),
        ImportanceRulesV1(rules.importance.critical_from, rules.importance.material_from),
        RiskRulesV1(
            rules.outdated_after_days,
            rules.low_confidence_below,
            rules.ambiguous_margin,
            rules.torn_from,
        ),
        msgspec.UNSET
        if rules.judge is None
        else msgspec.convert(rules.judge, JudgeRulesV1, from_attributes=True),
    )


def rules_digest(rules: LedgerRules) -> str:
    """Return the digest that names the rules in a ledger."""
    return digest_of(jcs(msgspec.to_builtins(rules_to_wire(rules))))


def with_gates(rules: LedgerRules, overrides: tuple[str, ...]) -> LedgerRules:
    """Return the rules with the gates that the user changed on the command line."""
    return replace(rules, gates=override_ledger_gates(overrides, rules.gates))
