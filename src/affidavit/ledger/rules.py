"""The thresholds of the ledger as one value with a digest, and the TOML file that may set them.

A setting that the file leaves out keeps its default. An error names the field. Rules R1 to R3 of
docs/ledger.md.
"""

from functools import lru_cache
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from affidavit.base.canonical import jcs
from affidavit.base.config import ConfigFaults, parse_toml
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.label_statistics import with_prior
from affidavit.base.statistics import rounded
from affidavit.decision.gate import Gate
from affidavit.ledger.gates import DEFAULT_GATES, override_ledger_gates
from affidavit.ledger.importance import DEFAULT_THRESHOLDS, ImportanceThresholds
from affidavit.ledger.model import Count, Share, Verdict

_SCORE_DECIMALS = 4


class VerdictThresholds(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[verdict]`."""

    supported_above: Share = 0.85
    """Full support is `supported` only above this similarity: section 4.2."""
    match_from: Share = 0.0
    """A supporting reading below this similarity does not count."""
    contradicted_from: Share = 0.0
    """A contradicting reading below this score does not count; 0 accepts every one."""


class RiskThresholds(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[risk]`."""

    outdated_after_days: Count = 365
    low_confidence_below: Share = 0.6
    ambiguous_margin: Share = 0.1
    """Readings this close to the best one count as top readings."""
    torn_from: Share = 0.5
    """A reading is torn if it scores at least this both for and against the claim."""


class JudgeThresholds(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[judge]`: bounds on a judge's probabilities. `judge calibrate` writes it.

    A judge's support is the probability that a claim is supported where half of all claims are.
    `prior` is the share of supported claims where the rules are used; the support is shifted to it
    before it is compared. Scores are compared with four decimals, so that a difference in the last
    bits between two machines decides nothing.
    """

    supported_from: Share = 0.5
    weak_from: Share = 0.25
    contradicted_from: Share = 0.5
    prior: Annotated[float, Meta(gt=0, lt=1)] = 0.5

    def shifted(self, support: float) -> float:
        """Return the support with the prior, rounded as it is compared and shown."""
        return rounded(with_prior(support, self.prior), _SCORE_DECIMALS)

    def unshifted(self, support: float) -> float:
        """Return the support that `shifted` turns into this one."""
        return rounded(with_prior(support, 0.5, self.prior), _SCORE_DECIMALS)

    def verdict(self, support: float, contradiction: float) -> Verdict:
        """Return the verdict on a claim. `support` is unshifted; a contradiction goes first."""
        if rounded(contradiction, _SCORE_DECIMALS) >= self.contradicted_from:
            return Verdict.CONTRADICTED
        shifted = self.shifted(support)
        if shifted >= self.supported_from:
            return Verdict.SUPPORTED
        return Verdict.WEAK if shifted >= self.weak_from else Verdict.NOT_FOUND


class LedgerRules(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every number that a verdict, a flag or a decision depends on: the rules file.

    In a rules file `gates` are changes to the default gates, written as for `--gate`. In checked
    rules they are all gates, with `=off` for each default gate that is switched off. The table
    `[judge]` is left out of the JSON where it is not set: older ledgers keep their rules digest.
    """

    gates: tuple[str, ...] = tuple(map(str, DEFAULT_GATES))
    verdict: VerdictThresholds = VerdictThresholds()
    importance: ImportanceThresholds = DEFAULT_THRESHOLDS
    risk: RiskThresholds = RiskThresholds()
    judge: JudgeThresholds | UnsetType = UNSET

    @property
    def active_gates(self) -> tuple[Gate, ...]:
        """The gates that decide. The defaults of the day on which a ledger is read add none."""
        return _gates_written(self.gates)

    @property
    def judge_thresholds(self) -> JudgeThresholds | None:
        """The bounds on the judge's probabilities; None leaves the verdict to the judge."""
        return None if isinstance(self.judge, UnsetType) else self.judge


@lru_cache(maxsize=64)
def _gates_written(texts: tuple[str, ...]) -> tuple[Gate, ...]:
    return override_ledger_gates(texts, ())


DEFAULT_RULES: Final = LedgerRules()


def rules_from_toml(data: bytes, file: str | None = None) -> LedgerRules:
    """Return the rules of a rules file. `file` is its name, for messages."""
    document = parse_toml(data, file, ConfigFaults(faults.RULES_SYNTAX, faults.RULES_FIELD))
    rules = document.decode(LedgerRules, document.value)
    try:
        return checked_rules(rules)
    except AffidavitError as error:
        raise document.locate(error.at(field="gates")) from None


def checked_rules(rules: LedgerRules, defaults: tuple[Gate, ...] = DEFAULT_GATES) -> LedgerRules:
    """Return the rules with every gate spelled out; raise if some verdict could never occur.

    `defaults` are the default gates, which for a stored ledger are those of its schema version.
    """
    if rules.importance.material_from > rules.importance.critical_from:
        raise AffidavitError(
            faults.RULES_FIELD,
            Where(field="importance.material_from"),
            problem="material_from is above critical_from, so no claim could be material",
        )
    judge = rules.judge_thresholds
    if judge is not None and judge.weak_from > judge.supported_from:
        raise AffidavitError(
            faults.RULES_FIELD,
            Where(field="judge.weak_from"),
            problem="weak_from is above supported_from, so no claim could be weak",
        )
    return _with_exactly(rules, override_ledger_gates(rules.gates, defaults), defaults)


def with_gates(rules: LedgerRules, overrides: tuple[str, ...]) -> LedgerRules:
    """Return checked rules with the gates that the user changed on the command line."""
    gates = override_ledger_gates(overrides, rules.active_gates)
    return _with_exactly(rules, gates, DEFAULT_GATES)


def _with_exactly(
    rules: LedgerRules, gates: tuple[Gate, ...], defaults: tuple[Gate, ...]
) -> LedgerRules:
    """Return the rules with these gates: the default ones first, and at the end those that are off.

    A gate that is off is named, so that nobody overlooks it.
    """
    active = {gate.key for gate in gates}
    off = tuple(f"{gate.key}=off" for gate in defaults if gate.key not in active)
    ordered = override_ledger_gates((*map(str, gates), *off), defaults)
    return structs.replace(rules, gates=(*map(str, ordered), *off))


@lru_cache(maxsize=64)
def rules_digest(rules: LedgerRules) -> str:
    """Return the digest that names the rules in a ledger."""
    return digest_of(jcs(msgspec.to_builtins(rules)))
