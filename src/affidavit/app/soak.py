"""Soak: builds the plan, runs the trials, and writes the two documents, the page and the bundle."""

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Final, Literal

import msgspec

import affidavit
from affidavit.app import recording as kinds
from affidavit.app.bundle_contents import differing_paths
from affidavit.app.bundles import WrittenBundle, bundles_in, open_bundle, write_bundle
from affidavit.app.clock import now
from affidavit.app.lint import packs_from_texts
from affidavit.app.pack_files import built_in_pack
from affidavit.app.soak_checks import check_text
from affidavit.app.soak_services import Services
from affidavit.app.soak_trials import Journal, SoakRun, TrialJudge, run_trial, run_trials
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import soak as faults
from affidavit.base.faults.bundles import LINT_BUNDLES_NONE
from affidavit.base.files import is_folder, write_atomically
from affidavit.base.strict_json import read_json_file
from affidavit.base.text import excerpt
from affidavit.base.validation import problem_and_field
from affidavit.checks.check import Check
from affidavit.decision.gate import Gate, override_gates
from affidavit.packs.lint import LINT_METRICS
from affidavit.packs.model import Pack, Severity
from affidavit.seal.bundle.container import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.events import RUN_FINISHED, RUN_STARTED
from affidavit.seal.bundle.manifest import ManifestDetails
from affidavit.seal.bundle.writer import EventDraft, EventWriter, RunIdentity
from affidavit.soak.drift import Drift, Outcomes, compare_with_baseline
from affidavit.soak.fault_plan import FaultLevel
from affidavit.soak.policy import (
    SOAK_METRICS,
    DecisionPolicy,
    SoakCounts,
    StopPolicy,
    StopReason,
)
from affidavit.soak.report import (
    Divergence,
    SoakDetails,
    SoakPackV1,
    SoakPlan,
    SoakReportV1,
    SoakResult,
    soak_details,
    soak_report,
    soak_result,
)
from affidavit.soak.surface import SurfaceReport
from affidavit.soak.trial import Trial, TrialStatus
from affidavit.tools.trial_targets import CommandTarget, Target, TrialLimits, target_from

EXIT_PACK: Final = "exit-status"
RESUMABLE: Final = (StopReason.INTERRUPTED, StopReason.TIME_BUDGET)
_MOST_DIVERGENCES: Final = 20
_MOST_PLACES: Final = 8


@dataclass(frozen=True, kw_only=True)
class SoakOptions:
    """What the user asks for."""

    target: str
    iterations: int
    seed: int
    time_budget_secs: int
    packs: tuple[str, ...] = ()
    policy: DecisionPolicy = field(default_factory=DecisionPolicy)
    stop: StopPolicy = field(default_factory=StopPolicy)
    cases: tuple[str, ...] = ()
    faults: tuple[FaultLevel, ...] = ()
    fault_delay_ms: int = 1000
    services: Services = field(default_factory=Services)
    gates: tuple[str, ...] = ()
    trial_gates: tuple[str, ...] = ()
    trial_checks: tuple[Check, ...] = ()
    bundle_limits: BundleLimits = DEFAULT_LIMITS
    trial_limits: TrialLimits = field(default_factory=TrialLimits)
    suite: str | None = None
    jobs: int = 1
    shard: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class SoakFiles:
    """Where a soak writes. Without a report nothing is kept."""

    report: Path | None = None
    details: Path | None = None

    @property
    def details_path(self) -> Path | None:
        """The second document: beside the report, unless it has a name of its own."""
        if self.details is not None or self.report is None:
            return self.details
        return self._beside(".details.json")

    @property
    def journal(self) -> Path | None:
        """The record of trials."""
        return None if self.report is None else self._beside(".trials.jsonl")

    @property
    def bundles(self) -> Path | None:
        """The folder of the evidence."""
        return None if self.report is None else self._beside(".bundles")

    def _beside(self, ending: str) -> Path:
        report = self.report or Path()
        return report.with_name(report.name.removesuffix(".json") + ending)


@dataclass(frozen=True, kw_only=True)
class SoakOutcome:
    """What a soak came to. Without a judged run there is no report."""

    report: SoakReportV1 | None
    details: SoakDetails
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class SoakEngine:
    """Where trials run: on this machine, or on the machines of a Spark cluster."""

    name: Literal["local", "spark"] = "local"
    master: str = "local[*]"


LOCAL: Final = SoakEngine()


def prepare_soak(options: SoakOptions, bundles: Path | None) -> tuple[SoakRun, tuple[Gate, ...]]:
    """Return everything that running a soak needs; raise what is wrong with the options."""
    options.services.require_for(options.faults)
    gates = override_gates(options.gates, (), SOAK_METRICS)
    trial_gates = override_gates(options.trial_gates, (), LINT_METRICS)
    stored = _stored_bundles(options.target)
    target = None if stored is not None else target_from(options.target)
    packs, exit_pack = _packs_of(options.packs, has_exit=target is not None)
    plan = SoakPlan(
        target=options.target,
        target_kind=_kind_of(target),
        iterations=options.iterations,
        seed=options.seed,
        packs=tuple(map(_pack_v1, [*packs, *([] if exit_pack is None else [exit_pack])])),
        policy=options.policy,
        stop=options.stop,
        cases=options.cases,
        faults=options.faults,
        fault_delay_ms=options.fault_delay_ms,
        services=options.services.names,
        gates=tuple(map(str, gates)),
        trial_gates=tuple(map(str, trial_gates)),
        trial_checks=tuple(map(check_text, options.trial_checks)),
        limits=msgspec.structs.asdict(options.bundle_limits),
        trial_limits=_as_dict(options.trial_limits),
        suite=options.suite,
    )
    judge = TrialJudge(
        packs=packs,
        exit_pack=exit_pack,
        threshold=Severity(options.policy.pass_on_severity_at_or_above),
        gates=trial_gates,
        limits=options.bundle_limits,
        checks=options.trial_checks,
    )
    run = SoakRun(
        plan=plan,
        judge=judge,
        target=target,
        stored=stored or (),
        limits=options.trial_limits,
        services=options.services,
        bundles=bundles,
        jobs=options.jobs,
        time_budget_secs=options.time_budget_secs,
        shard=options.shard,
    )
    return run, gates


def _as_dict(limits: TrialLimits) -> dict[str, float]:
    return {name: getattr(limits, name) for name in TrialLimits.__slots__}


def _stored_bundles(target: str) -> tuple[Path, ...] | None:
    """Return the bundles that a target names; None if it names something to run."""
    path = Path(target)
    if not (is_folder(path) or target.endswith((".tar.gz", ".tgz"))):
        return None
    found = tuple(bundles_in([path]))
    if not found:
        raise AffidavitError(LINT_BUNDLES_NONE, Where(file=target))
    return found


def _kind_of(target: Target | None) -> Literal["command", "http", "python", "bundles"]:
    if target is None:
        return "bundles"
    if not isinstance(target, CommandTarget):
        return "http"
    return "python" if "affidavit.tools.trial_function" in target.argv else "command"


def _packs_of(names: tuple[str, ...], *, has_exit: bool) -> tuple[tuple[Pack, ...], Pack | None]:
    """Return the packs for the evidence, and the one for how a command ended.

    A command that says that it failed has failed, whatever its evidence shows.
    """
    if not has_exit:
        return packs_from_texts(names), None
    packs = packs_from_texts(names) if names else ()
    chosen = tuple(pack for pack in packs if pack.name != EXIT_PACK)
    return chosen, built_in_pack(EXIT_PACK)


def _pack_v1(pack: Pack) -> SoakPackV1:
    return SoakPackV1(
        name=pack.name,
        version=pack.version,
        kind=pack.kind.value,
        digest=pack.digest,
        source=pack.source,
    )


def shard_from(text: str) -> tuple[int, int]:
    """Return the number and the count of a text like `1/4`."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise AffidavitError(faults.SOAK_SHARD, text=excerpt(text))
    return int(number), int(count)


def run_soak(
    options: SoakOptions,
    files: SoakFiles,
    *,
    resume: bool = False,
    baseline: Path | None = None,
    on_trial: Callable[[Trial], None] = lambda trial: None,
    engine: SoakEngine = LOCAL,
) -> SoakOutcome:
    """Run a soak and write its documents."""
    before = None if baseline is None else read_soak_report(baseline)
    with ExitStack() as stack:
        folder = files.bundles or Path(stack.enter_context(TemporaryDirectory()))
        run, gates = prepare_soak(options, folder)
        recorded: Sequence[Trial] = ()
        journal = None if files.journal is None else Journal(files.journal, run.plan)
        if journal is not None:
            recorded = journal.open(resume=resume)
            stack.callback(journal.close)
        if run.target is not None:
            folder.mkdir(parents=True, exist_ok=True)

        def on_end(trial: Trial) -> None:
            if journal is not None:
                journal.keep(trial)
            on_trial(trial)

        for trial in recorded:
            on_trial(trial)
        if engine.name == "spark":
            every, ended = _run_on_spark(options, run, recorded, on_end, engine.master)
        else:
            every, ended = run_trials(run, recorded, on_end)
        result = soak_result(run.plan, every, ended)
        outcome = write_soak(
            result,
            gates,
            files,
            time_budget_secs=options.time_budget_secs,
            shard=options.shard,
            drift=None if before is None else _drift(str(baseline), before, result),
            folder=folder,
        )
        if journal is not None and ended not in RESUMABLE:
            journal.remove()
        return outcome


def _run_on_spark(
    options: SoakOptions,
    run: SoakRun,
    recorded: Sequence[Trial],
    on_end: Callable[[Trial], None],
    master: str,
) -> tuple[list[Trial], StopReason | None]:
    """Run the trials that are not recorded on Spark.

    All of them run, because no machine knows the others' results. What is beyond an early stop does
    not count. The folder of the bundles has to be one that all machines see.
    """
    from affidavit.engine.spark import run_on_spark

    done = {trial.index for trial in recorded}
    left = [index for index in run.indexes if index not in done]
    work = partial(_spark_trial, replace(options, jobs=1), run.bundles and run.bundles.resolve())
    trials = list(recorded)
    for raw in run_on_spark(master, work, left):
        trials.append(msgspec.json.decode(raw, type=Trial))
        on_end(trials[-1])
    few = run.target is None and len(run.stored) < run.plan.iterations
    return trials, StopReason.TOO_FEW_BUNDLES if few else None


def _spark_trial(options: SoakOptions, bundles: Path | None, index: int) -> bytes:
    """Run one trial in a worker of Spark."""
    run, _ = prepare_soak(options, bundles)
    if bundles is not None and run.target is not None:
        bundles.mkdir(parents=True, exist_ok=True)
    try:
        return msgspec.json.encode(run_trial(run, index, monotonic() + options.time_budget_secs))
    finally:
        if run.target is not None:
            run.target.close()


def write_soak(
    result: SoakResult,
    gates: Sequence[Gate],
    files: SoakFiles,
    *,
    time_budget_secs: int,
    shard: tuple[int, int] | None,
    drift: Drift | None,
    folder: Path,
) -> SoakOutcome:
    """Write the documents of a result; without a judged run, only the second one."""
    details = soak_details(
        result,
        gates,
        tool_version=affidavit.__version__,
        time_budget_secs=time_budget_secs,
        shard=None if shard is None else f"{shard[0]}/{shard[1]}",
        drift=drift,
        divergences=tuple(_divergences(result.trials, folder.parent)),
        notes=tuple(_notes(result)),
    )
    report = None
    if result.counts.judged:
        report = soak_report(result, time_budget_secs, now())
    if files.details_path is not None:
        write_atomically(files.details_path, _document(details))
    if files.report is not None and report is not None:
        write_atomically(files.report, _document(report))
    return SoakOutcome(
        report=report, details=details, interrupted=result.stopped is StopReason.INTERRUPTED
    )


def _document(document: SoakReportV1 | SoakDetails) -> bytes:
    # Ten thousand trials take a second with the standard library, and a few milliseconds so.
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _notes(result: SoakResult) -> Iterable[str]:
    if result.stopped is StopReason.TOO_FEW_BUNDLES:
        yield (
            f"{len(result.trials)} bundles were found for {result.plan.iterations} iterations;"
            " each counts once"
        )


def _drift(name: str, before: SoakReportV1, now_: SoakResult) -> Drift:
    was = before.results
    violations = was.violations_by_rule or {}
    counts = SoakCounts(was.passes, was.failures, was.infra_errors)
    return compare_with_baseline(
        name, Outcomes(counts, dict(violations)), Outcomes(now_.counts, now_.violations)
    )


def read_soak_report(path: Path) -> SoakReportV1:
    """Read a soak-report-v1."""
    found: SoakReportV1 = _read(path, SoakReportV1, "soak-report-v1")
    return found


def read_soak_details(path: Path) -> SoakDetails:
    """Read the second document of a soak."""
    found: SoakDetails = _read(path, SoakDetails, "affidavit-soak/1")
    return found


def read_surface(path: Path) -> SurfaceReport:
    """Read the report of a fault surface."""
    found: SurfaceReport = _read(path, SurfaceReport, "affidavit-surface/1")
    return found


def _read(path: Path, kind: type[Any], wanted: str) -> Any:
    try:
        return msgspec.convert(read_json_file(path), kind)
    except msgspec.ValidationError as error:
        problem, place = problem_and_field(error)
        raise AffidavitError(
            faults.SOAK_DOCUMENT, Where(file=str(path), field=place), wanted=wanted, problem=problem
        ) from None


# The first divergence of a failing run from a passing one.


def _divergences(trials: Sequence[Trial], root: Path) -> Iterable[Divergence]:
    """Yield where failing runs first differ from the first passing run of the same case.

    Places in which the first two passing runs differ as well, such as seeds, are left out.
    """
    passing: dict[str | None, list[Trial]] = {}
    for trial in trials:
        if trial.status is TrialStatus.PASS and trial.bundle is not None:
            passing.setdefault(trial.case, []).append(trial)
    failing = [
        trial
        for trial in trials
        if trial.status is TrialStatus.FAIL and trial.bundle is not None and trial.case in passing
    ]
    events = cache(lambda name: _events_of(root / name))
    for trial in failing[:_MOST_DIVERGENCES]:
        first, *others = passing[trial.case]
        expected = events(first.bundle)
        usual = set(_differences(expected, events(others[0].bundle))) if others else set()
        for number, kind, wanted, places in _first_places(events(trial.bundle), expected, usual):
            yield Divergence(
                index=trial.index,
                compared_with=first.index,
                event=number,
                type=kind,
                passing_type=wanted,
                places=places,
            )


def _events_of(path: Path) -> list[tuple[str, Any]]:
    try:
        with open_bundle(path) as reader:
            return [(str(event["type"]), event["data"]) for _, event in reader.events()]
    except AffidavitError:  # A bundle that was removed since it was judged.
        return []


_Events = Sequence[tuple[str, Any]]


def _differences(found: _Events, expected: _Events) -> Iterable[tuple[str, str]]:
    """Yield the type and the place of everything that differs between events of the same type."""
    for (kind, data), (wanted, other) in zip(found, expected, strict=False):
        if kind == wanted:
            yield from ((kind, place) for place in differing_paths(data, other, "/data"))


def _first_places(
    found: _Events, expected: _Events, usual: Container[tuple[str, str]]
) -> Iterable[tuple[int, str | None, str | None, tuple[str, ...]]]:
    """Yield the number, the types and the places of the first event that differs, if any does."""
    for number, (event, other) in enumerate(zip_longest(found, expected), 1):
        if event is None or other is None or event[0] != other[0]:
            yield number, None if event is None else event[0], other and other[0], ()
            return
        places = [each for _, each in _differences([event], [other])]
        new = tuple(place for place in places if (event[0], place) not in usual)
        if new:
            yield number, event[0], other[0], new[:_MOST_PLACES]
            return


# Merging shards, and sealing a soak.


def merge_soaks(paths: Sequence[Path], files: SoakFiles) -> SoakOutcome:
    """Merge the second documents of all shards of one soak: the result of one machine."""
    parts = [read_soak_details(path) for path in paths]
    first = parts[0]
    for path, part in zip(paths, parts, strict=True):
        if part.plan_digest != first.plan_digest or part.plan.digest != part.plan_digest:
            raise AffidavitError(
                faults.SOAK_MERGE, Where(file=str(path)), problem="their plans differ"
            )
    trials = [
        (trial, path.parent)
        for path, part in zip(paths, parts, strict=True)
        for trial in part.trials
    ]
    seen: set[int] = set()
    for trial, _ in trials:
        if trial.index in seen:
            problem = f"trial {trial.index} is in two of them"
            raise AffidavitError(faults.SOAK_MERGE, problem=problem)
        seen.add(trial.index)
    plan = first.plan
    root = (files.report or Path()).resolve().parent
    placed = [_placed(trial, folder, root) for trial, folder in trials]
    ended = None
    if len(seen) < plan.iterations:
        reasons = [part.stopped for part in parts if part.stopped is not None]
        ended = reasons[0] if reasons else StopReason.INTERRUPTED
    gates = override_gates(plan.gates, (), SOAK_METRICS)
    return write_soak(
        soak_result(plan, placed, ended),
        gates,
        files,
        time_budget_secs=max(part.time_budget_secs for part in parts),
        shard=None,
        drift=None,
        folder=root / "bundles",
    )


def _placed(trial: Trial, folder: Path, root: Path) -> Trial:
    """Return a trial whose bundle is named from another folder."""
    if trial.bundle is None:
        return trial
    path = (folder / trial.bundle).resolve()
    name = path.relative_to(root) if path.is_relative_to(root) else path
    return msgspec.structs.replace(trial, bundle=str(name))


def seal_soak(details: SoakDetails, target: Path, packs: Sequence[Pack] = ()) -> WrittenBundle:
    """Write a soak as a bundle: the plan, every trial, and what was decided."""
    run = RunIdentity(
        f"soak-{details.plan.seed}", "urn:affidavit:soak", "affidavit", affidavit.__version__
    )
    at = now()
    decided = details.decision
    drafts = [
        EventDraft(RUN_STARTED, at, {"input": msgspec.to_builtins(details.plan)}),
        EventDraft(
            kinds.RNG_SEED, at, {"seed": details.plan.seed, "generator": "affidavit-soak-1"}
        ),
        EventDraft(kinds.CODE_VERSION, at, {"version": affidavit.__version__}),
        *(
            EventDraft(kinds.SOAK_TRIAL, at, {"trial": msgspec.to_builtins(trial)})
            for trial in details.trials
        ),
        EventDraft(
            kinds.VERDICT,
            at,
            {"verdict": decided.decision.value, "reason": "; ".join(decided.reasons)},
        ),
        EventDraft(
            RUN_FINISHED,
            at,
            {
                "status": "error" if details.partial else "ok",
                "output": {
                    "counts": msgspec.to_builtins(details.counts),
                    "pass_rate": details.pass_rate,
                    "pass_all": details.pass_all,
                },
            },
        ),
    ]
    writer = EventWriter(run)
    manifest = ManifestDetails(producer=run.producer_as_wire())
    return write_bundle(target, writer, map(writer.append, drafts), lambda: manifest, packs)
