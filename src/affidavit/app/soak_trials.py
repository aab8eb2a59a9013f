"""Runs and judges the trials of a soak, and records each as it ends."""

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import IO, Final

import msgspec

from affidavit.app.clock import now
from affidavit.app.lint import lint_bundle
from affidavit.app.soak_checks import EventFacts
from affidavit.app.soak_outputs import (
    InvalidOutputError,
    WrittenOutput,
    bundle_of_output,
    exit_draft,
    trial_run,
)
from affidavit.app.soak_services import Services
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import soak as faults
from affidavit.base.files import is_there, read_bounded, write_atomically
from affidavit.checks.check import Check
from affidavit.decision.decision import Decision
from affidavit.decision.gate import Gate
from affidavit.engine.local import run_with_shared
from affidavit.packs.lint import BundleLint, LintPass, LintResult, PreparedPacks, decide_lint
from affidavit.packs.model import Pack, Severity
from affidavit.seal.bundle.container import BundleLimits
from affidavit.seal.bundle.writer import EventWriter
from affidavit.soak.fault_plan import FaultPlan
from affidavit.soak.policy import StopReason, StopRule
from affidavit.soak.report import SoakPlan
from affidavit.soak.trial import (
    InfraError,
    InfraErrorKind,
    Trial,
    TrialStatus,
    case_of,
    trial_seed,
)
from affidavit.tools.trial_targets import Target, TargetRun, TrialLimits, TrialRequest

_MAX_RESULTS: Final = 500
_JOURNAL_VERSION: Final = 1
_JOIN_SECONDS: Final = 30
"""Longer than ending a trial takes. A request over HTTP may hang longer, until its deadline."""
_MAX_JOURNAL_BYTES: Final = 1 << 30


@dataclass(frozen=True)
class TrialJudge:
    """Judges the evidence of a trial as lint does: packs, always-on rules, gates and checks."""

    packs: tuple[Pack, ...]
    exit_pack: Pack | None
    threshold: Severity
    gates: tuple[Gate, ...]
    limits: BundleLimits
    checks: tuple[Check, ...] = ()

    @cached_property
    def _prepared(self) -> PreparedPacks:
        return PreparedPacks(self.packs)

    def judge_bundle(self, path: Path) -> tuple[BundleLint, list[str], bool]:
        """Return the lint of a bundle, the rules that it violates, and whether it passes."""
        facts = EventFacts(self.checks) if self.checks else None
        on_line = None if facts is None else facts.feed
        linted = lint_bundle(path, self._prepared, self.limits, _MAX_RESULTS, on_line)
        violated, passes = self._verdict(linted.result)
        if facts is not None:
            wrong, holds = facts.verdict()
            violated, passes = [*violated, *wrong], passes and holds
        return linted, violated, passes

    def judge_exit(self, code: int, at: str) -> tuple[list[str], bool]:
        """Return the rules that the end of a command violates, and whether it passes."""
        if self.exit_pack is None:
            return [], True
        line = EventWriter(trial_run(0, 0)).append(exit_draft(code, at))
        lint = LintPass([self.exit_pack], {}, _MAX_RESULTS)
        lint.feed_lines(1, line)
        return self._verdict(lint.finish(), gates=())

    def _verdict(
        self, result: LintResult, gates: tuple[Gate, ...] | None = None
    ) -> tuple[list[str], bool]:
        violated = sorted({finding.rule_id for finding in result.findings})
        passes = not result.has_at_least(self.threshold)
        asked = self.gates if gates is None else gates
        if asked:
            made = decide_lint(asked, result)
            if made.decision is Decision.INCONCLUSIVE:
                raise InvalidOutputError(f"a gate was not measured: {made.reasons[0]}")
            violated += [f"gate:{each}" for each in made.reasons]
            passes = passes and made.decision is Decision.SHIP
        return violated, passes


@dataclass(frozen=True)
class SoakRun:
    """Everything that running the trials of a plan needs. `bundles` is where evidence is kept."""

    plan: SoakPlan
    judge: TrialJudge
    target: Target | None
    stored: tuple[Path, ...] = ()
    limits: TrialLimits = field(default_factory=TrialLimits)
    services: Services = field(default_factory=Services)
    bundles: Path | None = None
    jobs: int = 1
    time_budget_secs: int = 3600
    shard: tuple[int, int] | None = None

    @property
    def indexes(self) -> list[int]:
        """The trials to run: all, or those of the shard."""
        every = range(1, self.plan.iterations + 1)
        if self.target is None:
            every = range(1, min(self.plan.iterations, len(self.stored)) + 1)
        if self.shard is None:
            return [*every]
        number, count = self.shard
        return [index for index in every if index % count == number % count]


def run_trials(
    soak: SoakRun,
    recorded: Sequence[Trial],
    on_end: Callable[[Trial], None],
) -> tuple[list[Trial], StopReason | None]:
    """Run what is not recorded yet; return all trials, and why not all iterations were run.

    Ctrl-C ends the running trials; what has ended is returned. A shard is not stopped early by the
    policy, because the trials of the other shards count, too.
    """
    trials = {trial.index: trial for trial in recorded}
    rule = _StopInOrder(soak, trials)
    if rule.is_over:
        return [*trials.values()], None
    deadline = monotonic() + soak.time_budget_secs
    left = [index for index in soak.indexes if index not in trials]
    ended: StopReason | None = None
    running = (
        _stored_trials(soak, left, deadline)
        if soak.target is None
        else _TrialThreads(soak, left, deadline)
    )
    try:
        for trial in running:
            on_end(trial)
            trials[trial.index] = trial
            if rule.feed():
                break
        else:
            missing = [index for index in left if index not in trials]
            ended = StopReason.TIME_BUDGET if missing else None
    except KeyboardInterrupt:
        ended = StopReason.INTERRUPTED
    finally:
        running.close()
    if soak.target is None and len(soak.stored) < soak.plan.iterations and not rule.is_over:
        ended = ended or StopReason.TOO_FEW_BUNDLES
    return [*trials.values()], ended


class _StopInOrder:
    """Applies the stop rule to trials by their index, whatever order they end in."""

    def __init__(self, soak: SoakRun, trials: dict[int, Trial]) -> None:
        self._rule = StopRule(soak.plan.policy, soak.plan.stop)
        self._trials = trials
        self._waiting = iter([] if soak.shard else soak.indexes)
        self._next = next(self._waiting, None)
        self.is_over = False
        self.feed()

    def feed(self) -> bool:
        while not self.is_over and self._next in self._trials:
            self.is_over = self._rule.feed(self._trials[self._next]) is not None
            self._next = next(self._waiting, None)
        return self.is_over


def _stored_trials(
    soak: SoakRun, indexes: Sequence[int], deadline: float
) -> Generator[Trial, None, None]:
    """Yield the trials of stored bundles, judged in processes if there are several jobs."""
    for trial in run_with_shared(soak, _judge_stored, indexes, soak.jobs):
        yield trial
        if monotonic() >= deadline:
            return


class _TrialThreads:
    """Runs trials in threads and yields them as they end."""

    def __init__(self, soak: SoakRun, indexes: Sequence[int], deadline: float) -> None:
        self._soak = soak
        self._deadline = deadline
        self._waiting = iter(indexes)
        self._lock = Lock()
        self._done: SimpleQueue[Trial | BaseException | None] = SimpleQueue()
        count = min(soak.jobs, len(indexes))
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(count)]

    def __iter__(self) -> Iterator[Trial]:
        for thread in self._threads:
            thread.start()
        left = len(self._threads)
        while left:
            ended = self._done.get()
            if isinstance(ended, BaseException):
                raise ended
            if ended is None:
                left -= 1
            else:
                yield ended

    def close(self) -> None:
        """Start no further trial, and end the running ones."""
        with self._lock:
            self._waiting = iter(())
        if self._soak.target is not None:
            self._soak.target.close()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_JOIN_SECONDS)

    def _work(self) -> None:
        try:
            while monotonic() < self._deadline:
                with self._lock:
                    index = next(self._waiting, None)
                if index is None:
                    break
                self._done.put(run_trial(self._soak, index, self._deadline))
            self._done.put(None)
        except BaseException as error:  # Raised again in the waiting thread.
            self._done.put(error)


def run_trial(soak: SoakRun, index: int, deadline: float) -> Trial:
    """Run one trial and judge it. Nothing that a target does is raised."""
    if soak.target is None:
        return _judge_stored(soak, index)
    seed = trial_seed(soak.plan.seed, index)
    folder = Path(tempfile.mkdtemp(prefix="affidavit-trial-"))
    plan = FaultPlan(soak.plan.faults, soak.plan.seed, index, soak.plan.fault_delay_ms)
    limits = replace(
        soak.limits, seconds=max(0.0, min(soak.limits.seconds, deadline - monotonic()))
    )
    request = TrialRequest(
        index=index,
        seed=seed,
        case=case_of(soak.plan.cases, index),
        folder=folder,
        limits=limits,
    )
    trial = Trial(
        index=index, seed=seed, status=TrialStatus.INFRA_ERROR, duration_ms=0, case=request.case
    )
    try:
        with soak.services.started(plan, folder) as services:
            run = soak.target.run(replace(request, environment=services.environment))
        timed = msgspec.structs.replace(
            trial, duration_ms=round(run.seconds * 1000), faults=services.injected()
        )
        return _judged(soak, request, run, timed)
    except OSError as error:
        return _failed(trial, InfraErrorKind.IO_ERROR, f"{error.strerror or error}")
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove the folder of a trial.

    A target may nest folders deeper than Python recurses and than a path may be long, so inner
    folders are moved up first.
    """
    number = 0
    with suppress(OSError):
        while inner := [Path(entry) for entry in os.scandir(folder) if _is_folder(entry)]:
            for path in inner:
                for entry in [*os.scandir(path)]:
                    if _is_folder(entry):
                        number += 1
                        Path(entry).rename(folder / f"affidavit-removed-{number}")
                shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    return entry.is_dir(follow_symlinks=False)


def _failed(trial: Trial, kind: InfraErrorKind, message: str) -> Trial:
    return msgspec.structs.replace(trial, infra_error=InfraError(kind, message))


def _judged(soak: SoakRun, request: TrialRequest, run: TargetRun, trial: Trial) -> Trial:
    if run.error is not None or run.code is None:
        return msgspec.structs.replace(trial, infra_error=run.error)
    name = f"{request.index:06}.tar.gz"
    bundle = (request.folder if soak.bundles is None else soak.bundles) / name
    at = now()
    written = WrittenOutput(
        request.output, request.stdout, run.code, trial_run(soak.plan.seed, request.index), at
    )
    try:
        bundle_of_output(written, bundle)
        linted, violated, passes = soak.judge.judge_bundle(bundle)
        by_exit, exit_passes = soak.judge.judge_exit(run.code, at)
    except (AffidavitError, InvalidOutputError) as error:
        bundle.unlink(missing_ok=True)
        message = error.message if isinstance(error, AffidavitError) else str(error)
        return _failed(trial, InfraErrorKind.INVALID_OUTPUT, message)
    return msgspec.structs.replace(
        trial,
        status=TrialStatus.PASS if passes and exit_passes else TrialStatus.FAIL,
        violated_rules=tuple(sorted({*violated, *by_exit})),
        bundle=None if soak.bundles is None else f"{soak.bundles.name}/{name}",
        bundle_id=linted.bundle_id,
        bundle_digest=linted.digest,
        said=run.said,
    )


def _judge_stored(soak: SoakRun, index: int) -> Trial:
    """TrialJudge a stored bundle. One that cannot be read or verified could not be judged."""
    path = soak.stored[index - 1]
    started = monotonic()
    name, root = str(path), soak.plan.target.rstrip(os.sep) + os.sep
    # The case is the first folder below the target.
    case, below, _ = name.removeprefix(root).partition(os.sep)
    try:
        linted, violated, passes = soak.judge.judge_bundle(path)
    except (AffidavitError, InvalidOutputError) as error:
        message = error.message if isinstance(error, AffidavitError) else str(error)
        return Trial(
            index=index,
            status=TrialStatus.INFRA_ERROR,
            duration_ms=0,
            case=case if below else None,
            infra_error=InfraError(InfraErrorKind.INVALID_OUTPUT, message),
            bundle=name,
        )
    return Trial(
        index=index,
        status=TrialStatus.PASS if passes else TrialStatus.FAIL,
        duration_ms=round((monotonic() - started) * 1000),
        case=case if below else None,
        violated_rules=tuple(violated),
        bundle=name,
        bundle_id=linted.bundle_id,
        bundle_digest=linted.digest,
    )


class Journal:
    """The record of trials beside the report: a line that names the plan, then one per trial.

    Each line is written when its trial ends. A process that is killed leaves whole lines, or a torn
    last one, which is removed.
    """

    def __init__(self, path: Path, plan: SoakPlan) -> None:
        self.path = path
        # To judge a stored bundle again takes no longer than to write its line to the disk.
        self._is_buffered = plan.target_kind == "bundles"
        self._header = {"affidavit_soak": _JOURNAL_VERSION, "plan": plan.digest}
        self._stream: IO[bytes] | None = None

    def open(self, *, resume: bool) -> list[Trial]:
        """Start a record, or go on with one; return the trials that it has."""
        trials: list[Trial] = []
        if is_there(self.path):
            if not resume:
                raise AffidavitError(faults.SOAK_RECORDED, Where(file=str(self.path)))
            trials = self._read()
        else:
            write_atomically(self.path, msgspec.json.encode(self._header) + b"\n")
        self._stream = self.path.open("ab")
        return trials

    def _read(self) -> list[Trial]:
        raw = read_bounded(self.path, _MAX_JOURNAL_BYTES)
        whole = raw[: raw.rfind(b"\n") + 1]
        lines = whole.splitlines()
        try:
            header = msgspec.json.decode(lines[0] if lines else b"")
            trials = [msgspec.json.decode(line, type=Trial) for line in lines[1:]]
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise AffidavitError(
                faults.SOAK_JOURNAL, Where(file=str(self.path)), problem=str(error)
            ) from None
        if header != self._header:
            problem = "its target, packs, policy, faults or seed differ"
            raise AffidavitError(faults.SOAK_RESUME, Where(file=str(self.path)), problem=problem)
        if len(whole) < len(raw):
            write_atomically(self.path, whole)
        return trials

    def keep(self, trial: Trial) -> None:
        """Record a trial. It survives a crash of this process, not one of the machine."""
        if self._stream is not None:
            self._stream.write(msgspec.json.encode(trial) + b"\n")
            if not self._is_buffered:
                self._stream.flush()

    def close(self) -> None:
        """Close the file, and make it durable."""
        if self._stream is not None:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._stream = None

    def remove(self) -> None:
        """Remove the record of a complete soak: the second document has its trials."""
        self.close()
        self.path.unlink(missing_ok=True)
