"""Puts together what `gate rag` needs: settings, rules of a file, a baseline, and an engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from affidavit.app.gating.files import STANDARD_INPUT, digest_of_files, files_named, shown_name
from affidavit.app.gating.rag import found_here, rag_gate
from affidavit.app.gating.rag_request import RagRequest
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import read_bounded
from affidavit.base.strict_json import decode
from affidavit.engine.local import run_with
from affidavit.gates.rag import KIND, RagPolicy
from affidavit.gates.rag_outcome import RagOutcome
from affidavit.gates.rag_scoring import DEFAULT_K, REFUSAL, RagSettings
from affidavit.gates.report import Report
from affidavit.gates.scu import RULES, ScuRule, rules_with

MAX_RULES_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RagPlan:
    """A run of `gate rag` as a command line or a config file asks for it."""

    gold: tuple[str, ...]
    trace: tuple[str, ...]
    gates: tuple[str, ...] = ()
    scu_enforced: bool = False
    scu_rules: Path | None = None
    k: int = DEFAULT_K
    refusal: str = REFUSAL
    allow_missing: bool = False
    skip_bad: bool = False
    expect_gold_digest: str | None = None
    baseline: Path | None = None
    items: bool = True
    jobs: int = 1
    engine: str = "local"
    master: str = "local[*]"


def run_rag(plan: RagPlan) -> Report:
    """Decide a run with the engine that the plan names."""
    rules = RULES if plan.scu_rules is None else rules_from_file(plan.scu_rules)
    request = RagRequest(
        plan.gold,
        plan.trace,
        RagPolicy(
            plan.gates,
            plan.scu_enforced,
            plan.allow_missing,
            RagSettings(plan.k, plan.refusal.strip(), rules),
        ),
        plan.skip_bad,
        plan.expect_gold_digest,
        _baseline(plan.baseline),
        plan.items,
        plan.jobs,
    )
    if plan.engine == "spark":
        return rag_gate(request, lambda asked: _found_on_spark(asked, plan.master))
    return rag_gate(request, lambda asked: found_here(asked, run_with))


def _baseline(path: Path | None) -> dict[str, bool | None] | None:
    if path is None:
        return None
    from affidavit.app.gating.baselines import outcomes_before

    return outcomes_before(path, KIND)


def _found_on_spark(request: RagRequest, master: str) -> RagOutcome:
    from affidavit.engine.spark_rag import SparkRun, found_on_spark

    for name in (*request.gold, *request.trace):
        if name == STANDARD_INPUT:
            raise AffidavitError(faults.SPARK_INPUT, Where(file=shown_name(name)))
    if not request.gold:
        raise AffidavitError(faults.GOLD_UNNAMED, Where(file=request.trace[0]))
    return found_on_spark(
        SparkRun(
            master,
            spark_names(request.gold),
            spark_names(request.trace),
            (", ".join(request.gold), ", ".join(request.trace)),
            request.policy.settings,
            request.skip_bad,
            request.needs_items,
            request.expect_gold_digest,
            digest_of_files,
        )
    )


def spark_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that Spark reads: patterns of this machine become their files."""
    found: list[str] = []
    for name in names:
        found.extend((name,) if "://" in name else files_named((name,)))
    return tuple(found)


def rules_from_file(path: Path) -> tuple[ScuRule, ...]:
    """Return our rules and those of a file: a JSON list, or tables `[[rule]]` of a TOML file."""
    raw = read_bounded(path, MAX_RULES_BYTES)
    file = str(path)
    if path.suffix.lower() != ".toml":
        try:
            return rules_with(decode(raw), file)
        except AffidavitError as error:
            raise error.at(file=file) from None
    import tomllib

    try:
        value = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problem = f"the file is not TOML ({error})"
        raise AffidavitError(faults.SCU_RULE, Where(file), problem=problem) from None
    return rules_with(value.get("rule"), file)
