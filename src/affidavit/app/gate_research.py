"""`gate research`: the stored artifacts of research runs against golden queries."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import UNSET

from affidavit.app.gate_inputs import (
    BadLines,
    GatePlan,
    InputLines,
    Name,
    baseline_outcomes,
    listed,
    shown_name,
)
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import FILE_MISSING, FILE_UNREADABLE, FOLDER_MISSING
from affidavit.base.files import digest_file, is_folder, read_bounded
from affidavit.base.strict_json import decode
from affidavit.decision.report import Report, ReportInput
from affidavit.gates.research import (
    OUTPUT_READER,
    RESEARCH_KIND,
    STEP_READER,
    GoldenQuery,
    ResearchRun,
    ResearchStep,
    golden_queries,
    research_report,
)

OUTPUT_FILE: Final = "output.json"
EVENTS_FILE: Final = "events.jsonl"
MANIFESTS_FILE: Final = "manifests.jsonl"
MAX_BYTES: Final = 16 * 1024 * 1024


class ResearchPlan(GatePlan, frozen=True, kw_only=True):
    """`[gates.research]`: a file of golden queries and a folder of runs."""

    PATHS = ("golden", "outputs")

    golden: Name
    outputs: Name
    allow_missing: bool = False


def gate_research(plan: ResearchPlan) -> Report:
    """Return the report of all runs. AF414 and AF415 mean that the evaluation cannot start."""
    queries, golden = _golden(plan.golden)
    before = baseline_outcomes(plan.fail_on_regression, RESEARCH_KIND)
    bad = BadLines(plan.skip_bad)
    runs = _Runs(Path(plan.outputs), bad)
    found = tuple(runs.read())
    return research_report(
        queries,
        found,
        {"golden": golden, "outputs": runs.as_input(len(found))},
        overrides=listed(plan.gates),
        correction=plan.correction,
        allow_missing=plan.allow_missing,
        comparison_with=before,
    )


def _golden(place: str) -> tuple[tuple[GoldenQuery, ...], ReportInput]:
    """Return the golden queries; any problem with them is a SYSTEM_ERROR."""
    try:
        raw = read_bounded(Path(place), MAX_BYTES)
        queries = golden_queries(decode(raw), place)
    except AffidavitError as error:
        if error.fault is faults.GOLDEN_MALFORMED:
            raise
        if error.fault is FILE_MISSING:
            raise AffidavitError(faults.GOLDEN_MISSING, Where(file=place)) from None
        where = error.at(file=place).where
        raise AffidavitError(faults.GOLDEN_MALFORMED, where, problem=error.message) from None
    return queries, ReportInput(path=shown_name(place), digest=digest_of(raw), rows=len(queries))


class _Runs:
    """The runs below a folder: every folder with `output.json`, in the order of names."""

    def __init__(self, root: Path, bad: BadLines) -> None:
        self._root = root
        self._bad = bad
        self._digests: list[str] = []
        self._folder_of: dict[str, str] = {}

    def read(self) -> Iterator[ResearchRun]:
        for folder in self._folders():
            try:
                run = self._run(folder)
            except AffidavitError as error:
                self._bad(error)
            else:
                yield run

    def as_input(self, runs: int) -> ReportInput:
        """Return the description of the folder; its digest covers all files and their names."""
        listed = "".join(sorted(self._digests)).encode("utf-8", "backslashreplace")
        digest = digest_of(listed) if self._digests else None
        bad = self._bad
        place = shown_name(str(self._root))
        return ReportInput(
            path=place,
            digest=digest,
            rows=runs,
            skipped=bad.count,
            skipped_lines=bad.described() or UNSET,
        )

    def _folders(self) -> Iterator[Path]:
        if not is_folder(self._root):
            raise AffidavitError(FOLDER_MISSING, Where(file=str(self._root)))
        stored = {OUTPUT_FILE, EVENTS_FILE, MANIFESTS_FILE}
        for place, folders, files in os.walk(self._root, onerror=_unreadable):
            folders.sort()
            if stored.intersection(files):
                yield Path(place)

    def _run(self, folder: Path) -> ResearchRun:
        place = folder / OUTPUT_FILE
        try:
            raw = read_bounded(place, MAX_BYTES)
            value = decode(raw)
        except AffidavitError as error:
            if error.fault is FILE_MISSING:
                problem = "the run has stored steps, but no output.json"
                raise self._wrong(place, problem) from None
            raise error.at(file=str(place)) from None
        output = OUTPUT_READER.from_value(value, None, str(place))
        events, manifests = self._steps(folder, EVENTS_FILE), self._steps(folder, MANIFESTS_FILE)
        other = self._folder_of.setdefault(output.run_id, str(folder))
        if other != str(folder):
            raise self._wrong(place, f"{other} has a run with the same run_id", "run_id")
        self._note(place, digest_of(raw))
        return ResearchRun(output, events, manifests or ())

    def _steps(self, folder: Path, name: str) -> tuple[ResearchStep, ...] | None:
        """Return the steps of a file, or None if it does not exist."""
        place = folder / name
        lines = InputLines(name, [str(place)])
        try:
            steps = tuple(row for _, row in lines.rows(STEP_READER.from_chunk))
        except AffidavitError as error:
            if error.fault is FILE_MISSING:
                return None
            raise
        self._note(place, digest_file(place))
        return steps

    def _note(self, place: Path, digest: str) -> None:
        self._digests.append(f"{place.relative_to(self._root).as_posix()} {digest}\n")

    def _wrong(self, place: Path, problem: str, field: str | None = None) -> AffidavitError:
        where = Where(file=str(place), field=field)
        return AffidavitError(faults.RESEARCH_OUTPUT, where, problem=problem)


def _unreadable(error: OSError) -> None:
    place = Where(file=str(error.filename))
    raise AffidavitError(FILE_UNREADABLE, place, reason=error.strerror or "not permitted")
