"""What an attestation can be about, and everything that it may say about it.

A bundle is read in one pass: verified, linted with its packs, and digested. Receipts, ledgers and
gate reports are replayed. Nothing is summarised whose own statements do not follow.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from affidavit.app.bundle_packs import ManifestPacks, packs_block
from affidavit.app.bundle_replay import NotReplayableError, gate_differences
from affidavit.app.bundles import error_in_bundle, sharing_between
from affidavit.app.lint import closure_report
from affidavit.app.pack_files import find_pack, pack_folder
from affidavit.base.canonical import jcs
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import attestation as faults
from affidavit.base.faults import receipts as receipt_faults
from affidavit.base.files import open_to_read
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.base.timestamps import parse_nanoseconds
from affidavit.checks.receipt import replay_body
from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.report import REPORT_SCHEMA, Report
from affidavit.gates.metrics import METRICS_BY_KIND
from affidavit.gates.report import parse_report
from affidavit.ledger.adjudication import find_ledger_problem
from affidavit.ledger.record import EDITIONS, ledger_from_json
from affidavit.packs.events import decode_heads
from affidavit.packs.lint import BundleLint, LintPass, RuleResult
from affidavit.packs.model import ENGINE_VERSION, Pack, Severity
from affidavit.packs.signals import REGISTRY_VERSION
from affidavit.seal.bundle.container import DEFAULT_LIMITS, EVENTS, MANIFEST, BundleLimits
from affidavit.seal.bundle.manifest import Manifest
from affidavit.seal.bundle.reader import BundleReader, read_bundle
from affidavit.seal.links import LINKED, LINKED_RECEIPTS
from affidavit.seal.receipts import receipt_from_bytes
from affidavit.seal.statement import (
    ASSAY,
    ATTESTATION,
    SVR,
    TEST_RESULT,
    Artifact,
    AttestationPredicateV1,
    AttestedPack,
    BundleFacts,
    ClosureSummary,
    LedgerFacts,
    Outcome,
    ReceiptFacts,
    ReportFacts,
    Statement,
    SubjectKind,
    SubjectSummary,
    verdict_of,
)

GZIP_MAGIC: Final = b"\x1f\x8b"
_RECEIPT_SCHEMA: Final = "answer/v1"
_PIECE_BYTES: Final = 1 << 18
_DECISIONS: Final = {Decision.SHIP: Outcome.PASSED, Decision.NO_SHIP: Outcome.FAILED}
_GATES: Final = {GateStatus.PASSED: Outcome.PASSED, GateStatus.FAILED: Outcome.FAILED}
_VERDICTS: Final = {"supported": Outcome.PASSED, "contradicted": Outcome.FAILED}


class WantedPack(Struct, frozen=True):
    """A pack that has to be run, which its digest identifies."""

    label: str
    registry_digest: str
    engine: str = ENGINE_VERSION


class SubjectReading(Struct, frozen=True, kw_only=True):
    """How a subject is read.

    `packs` are run over a bundle; None stands for those that its manifest names. `at_hand` are
    found besides the built-in ones. `has_times` asks for the times that Assay's predicate has.
    """

    packs: tuple[WantedPack, ...] | None = None
    at_hand: tuple[Pack, ...] = ()
    algorithms: tuple[str, ...] = ("sha256",)
    has_times: bool = False
    limits: BundleLimits = DEFAULT_LIMITS


def reading_with(packs: Sequence[Pack], predicate: str, limits: BundleLimits) -> SubjectReading:
    """Return how to read a subject to attest it; without packs, those of its manifest are run."""
    wanted = tuple(WantedPack(pack.label, pack.registry_digest) for pack in packs)
    return SubjectReading(
        packs=wanted or None,
        at_hand=tuple(packs),
        has_times=predicate == ASSAY,
        limits=limits,
    )


def reading_of(
    statement: Statement, at_hand: Sequence[Pack], limits: BundleLimits
) -> SubjectReading:
    """Return how to read the subject of a statement: with its packs and its digest algorithms."""
    used = {each for one in statement.subjects for each in one.digests}
    try:
        packs = _wanted_packs(statement)
    except msgspec.ValidationError as error:
        raise AffidavitError(faults.STATEMENT_FORMAT, problem=f"predicate: {error}") from None
    return SubjectReading(
        packs=packs,
        at_hand=tuple(at_hand),
        algorithms=tuple(sorted({*used, "sha256"})),
        has_times=statement.predicate_type == ASSAY,
        limits=limits,
    )


class _Descriptor(Struct):
    name: str
    digest: dict[str, str]


class _Verifier(Struct):
    policies: tuple[_Descriptor, ...]


def _wanted_packs(statement: Statement) -> tuple[WantedPack, ...]:
    """Return the packs that a statement says were run; Assay's names none."""
    predicate = statement.predicate
    if statement.predicate_type == ATTESTATION:
        named = msgspec.convert(predicate.get("packs", ()), tuple[AttestedPack, ...])
        return tuple(
            WantedPack(f"{one.name}@{one.version}", one.registry_digest, one.engine)
            for one in named
        )
    if statement.predicate_type == TEST_RESULT:
        listed = msgspec.convert(predicate.get("configuration"), tuple[_Descriptor, ...])
    elif statement.predicate_type == SVR:
        listed = msgspec.convert(predicate.get("verifier"), _Verifier).policies
    else:
        return ()
    return tuple(WantedPack(one.name, f"sha256:{one.digest.get('sha256')}") for one in listed)


def read_subject(path: Path, reading: SubjectReading, jobs: int = 1) -> SubjectSummary:
    """Return everything that an attestation may say about a file; raise if it does not hold.

    `jobs` processes share the work on a large bundle.
    """
    with open_to_read(path) as stream:
        magic = stream.peek(len(GZIP_MAGIC))[: len(GZIP_MAGIC)]
        try:
            if magic == GZIP_MAGIC:
                return _bundle(path.name, stream, reading, jobs)
            return _document(path.name, stream, reading)
        except AffidavitError as error:
            raise error_in_bundle(path, error).at(file=str(path)) from None


class DigestingStream:
    """A stream that computes the digests of what is read from it."""

    def __init__(self, stream: IO[bytes], algorithms: Iterable[str]) -> None:
        self._stream = stream
        self._digests = {name: hashlib.new(name) for name in algorithms}

    def read(self, size: int = -1, /) -> bytes:
        """Read at most `size` bytes."""
        data = self._stream.read(size)
        for digest in self._digests.values():
            digest.update(data)
        return data

    def finish(self) -> dict[str, str]:
        """Read the rest and return the digests of the whole stream, by algorithm."""
        while self.read(_PIECE_BYTES):
            pass
        return {name: digest.hexdigest() for name, digest in self._digests.items()}


def digests_of(data: bytes, algorithms: Iterable[str]) -> dict[str, str]:
    """Return the digests of bytes, by algorithm."""
    return {name: hashlib.new(name, data).hexdigest() for name in algorithms}


def _bundle(name: str, opened: IO[bytes], reading: SubjectReading, jobs: int) -> SubjectSummary:
    stream = DigestingStream(opened, reading.algorithms)
    reader = read_bundle(stream, reading.limits, run=sharing_between(jobs))
    manifest = reader.manifest
    packs = _packs_of(manifest, reading)
    lint = LintPass(packs, manifest.value)
    checker = _manifest_checker(manifest, reading)
    events = {name: hashlib.new(name) for name in reading.algorithms}
    times = _TimeWindow()
    for lines in reader.lines():
        lint.feed_lines(lines.first, lines.text)
        if checker is not None:
            checker.feed(lines)
        for digest in events.values():
            digest.update(lines.text)
        if reading.has_times:
            times.add(lines.text)
    if checker is not None:
        checker.finish()
    digests = stream.finish()
    linted = BundleLint(
        name=name,
        digest=f"sha256:{digests['sha256']}",
        bundle_id=manifest.known.bundle_id,
        run_id=manifest.known.run_id,
        result=lint.finish(),
    )
    artifacts = (
        Artifact(name, digests),
        Artifact(MANIFEST, digests_of(jcs(dict(manifest.value)), reading.algorithms)),
        Artifact(EVENTS, {each: digest.hexdigest() for each, digest in events.items()}),
    )
    tests = tuple(map(_rule_test, linted.result.rules))
    return SubjectSummary(
        subjects=artifacts,
        facts=_bundle_predicate(reader, linted, packs, artifacts, tests),
        tests=tests,
        configuration=tuple(
            Artifact(pack.label, {"sha256": pack.registry_digest.removeprefix("sha256:")})
            for pack in packs
        ),
        assay=_assay_predicate(manifest, times) if reading.has_times else None,
        assay_name=manifest.known.bundle_id,
    )


def _packs_of(manifest: Manifest, reading: SubjectReading) -> tuple[Pack, ...]:
    if reading.packs is not None:
        return tuple(_pack_at_hand(wanted, reading.at_hand) for wanted in reading.packs)
    recorded = () if manifest.known.affidavit is None else manifest.known.affidavit.pack_results
    results = {one.digest: one for one in recorded}
    applied = [(one, results.get(one.digest)) for one in manifest.known.packs_applied]
    return tuple(
        _pack_at_hand(
            WantedPack(
                f"{one.name}@{one.version}",
                one.digest if result is None else result.registry_digest,
                ENGINE_VERSION if result is None else result.engine,
            ),
            reading.at_hand,
        )
        for one, result in applied
    )


def _pack_at_hand(wanted: WantedPack, at_hand: Sequence[Pack]) -> Pack:
    label = excerpt(wanted.label)
    if wanted.engine != ENGINE_VERSION:
        problem = f"{label} was run by pack engine {excerpt(wanted.engine)}, not {ENGINE_VERSION}"
        raise AffidavitError(faults.STATEMENT_NOT_RECOMPUTED, problem=problem)
    for pack in (*at_hand, find_pack(wanted.label.rpartition("@")[0], pack_folder())):
        if pack is not None and wanted.registry_digest in (pack.registry_digest, pack.digest):
            return pack
    problem = f"the pack {label} with the digest {excerpt(wanted.registry_digest, 80)} is not here"
    raise AffidavitError(faults.STATEMENT_NOT_RECOMPUTED, problem=problem)


def _manifest_checker(manifest: Manifest, reading: SubjectReading) -> ManifestPacks | None:
    known = manifest.known
    if not (known.is_recomputable and known.packs_applied):
        return None
    return ManifestPacks(manifest, reading.at_hand, pack_folder())


def _rule_test(result: RuleResult) -> tuple[str, Outcome]:
    if result.outcome == "not_exercised":
        outcome = Outcome.NOT_TESTED
    elif result.finding is None:
        outcome = Outcome.PASSED
    else:
        is_error = result.finding.severity is Severity.ERROR
        outcome = Outcome.FAILED if is_error else Outcome.WARNED
    return result.pack.canonical_id(result.rule), outcome


def _bundle_predicate(
    reader: BundleReader,
    linted: BundleLint,
    packs: Sequence[Pack],
    artifacts: Sequence[Artifact],
    tests: Sequence[tuple[str, Outcome]],
) -> AttestationPredicateV1:
    known, contents = reader.manifest.known, reader.contents
    ours, closure = known.affidavit, linted.result.closure
    return AttestationPredicateV1(
        kind=SubjectKind.BUNDLE,
        verdict=verdict_of(tests),
        bundle=BundleFacts(
            bundle_id=known.bundle_id,
            run_id=known.run_id,
            event_count=known.event_count,
            manifest_sha256=artifacts[1].digests["sha256"],
            events_sha256=artifacts[2].digests["sha256"],
            finished=None if contents is None else contents.finished,
            merkle_root=None if ours is None else ours.merkle_root,
            tree_size=None if ours is None else ours.tree_size,
        ),
        packs=tuple(map(_attested_pack, packs)),
        mappings=packs_block(packs).mappings,
        closure_report=ClosureSummary(
            sha256=sha256_hex(jcs(msgspec.to_builtins(closure_report(linted)))),
            score=f"{closure.score:g}",
            confidence=closure.confidence.value,
            signals=REGISTRY_VERSION,
        ),
    )


def _attested_pack(pack: Pack) -> AttestedPack:
    return AttestedPack(
        name=pack.name,
        version=pack.version,
        kind=pack.kind.value,
        digest=pack.digest,
        registry_digest=pack.registry_digest,
        engine=ENGINE_VERSION,
    )


class _TimeWindow:
    """The earliest and the latest time of events, which need not be the first and the last."""

    def __init__(self) -> None:
        self._bounds: tuple[int, int] | None = None

    def add(self, text: bytes) -> None:
        """Add the events of whole lines."""
        times = [parse_nanoseconds(head.time) for head in decode_heads(text)]
        known = self._bounds or (times[0], times[0])
        self._bounds = min(known[0], *times), max(known[1], *times)

    def texts(self) -> tuple[str, str]:
        """Return both times as Assay writes them: with as many thirds of digits as needed."""
        first, last = self._bounds or (0, 0)
        return _assay_time(first), _assay_time(last)


def _assay_time(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 10**9)
    digits = f"{rest:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}{'.' if digits else ''}{digits}Z"


def _assay_predicate(manifest: Manifest, times: _TimeWindow) -> dict[str, JsonValue]:
    """Return the predicate that Assay's own verifier expects (its ADR-044)."""
    known = manifest.known
    start, end = times.texts()
    return {
        "schema_version": 1,
        "semantic_equivalence": {"algorithm": "assay-run-root-v1", "value": known.run_root},
        "run": {
            "run_id": known.run_id,
            "event_count": known.event_count,
            "producer": {
                "name": known.producer.name,
                "version": known.producer.version,
                "git": known.producer.git or "",
            },
            "time_window": {"start": start, "end": end},
        },
    }


def _document(name: str, opened: IO[bytes], reading: SubjectReading) -> SubjectSummary:
    raw = opened.read(DOCUMENT_LIMITS.max_bytes + 1)
    value = decode(raw)
    artifact = Artifact(name, digests_of(raw, reading.algorithms))
    members = value if isinstance(value, dict) else {}
    version = members.get("schema_version")
    if members.keys() == {LINKED_RECEIPTS}:
        raise AffidavitError(faults.ATTEST_LINKED)
    if members.get("schema") == _RECEIPT_SCHEMA:
        return _receipt(artifact, raw)
    if version in EDITIONS:
        return _ledger(artifact, raw)
    if version == REPORT_SCHEMA:
        return _report(artifact, members)
    problem = f"it has the schema {excerpt(str(members.get('schema', version)))}"
    raise AffidavitError(faults.ATTEST_KIND, problem=problem)


def _receipt(artifact: Artifact, raw: bytes) -> SubjectSummary:
    receipt = receipt_from_bytes(raw)
    if LINKED in receipt.value:
        raise AffidavitError(faults.ATTEST_LINKED)
    found = receipt.forms.receipt_id
    if receipt.id != found:
        raise AffidavitError(receipt_faults.RECEIPT_ID, said=excerpt(receipt.id), found=found)
    replayed = replay_body(receipt.value, receipt.forms.content)
    _require_same(map(str, replayed.differences))
    unknown = replayed.unreplayable or next(iter(replayed.unknown_evidence), None)
    if unknown is not None:
        raise AffidavitError(receipt_faults.RECEIPT_UNREPLAYABLE, what=unknown)
    checks = receipt.value.get("checks")
    tests = tuple(
        (excerpt(str(each.get("id"))), _VERDICTS.get(str(each.get("verdict")), Outcome.NOT_TESTED))
        for each in (checks if isinstance(checks, list) else ())
        if isinstance(each, dict)
    )
    evidence = receipt.value.get("evidence_index")
    said = {key: receipt.value.get(key) for key in ("issuer", "generated_at", "verdict")}
    verdict = str(said["verdict"])
    facts = AttestationPredicateV1(
        kind=SubjectKind.RECEIPT,
        verdict=verdict_of(tests, _VERDICTS.get(verdict, Outcome.NOT_TESTED)),
        receipt=ReceiptFacts(
            receipt_id=receipt.id,
            key_id=receipt.signature.key_id,
            evidence_count=len(evidence) if isinstance(evidence, dict) else 0,
            **{key: str(value) for key, value in said.items()},
        ),
    )
    return SubjectSummary(subjects=(artifact,), facts=facts, tests=tests)


def _ledger(artifact: Artifact, raw: bytes) -> SubjectSummary:
    ledger = ledger_from_json(raw)
    problem = find_ledger_problem(ledger)
    _require_same((problem,) if problem else ())
    tests = tuple(
        (each.gate, _GATES.get(each.status, Outcome.NOT_TESTED)) for each in ledger.gates.results
    )
    decision = ledger.gates.decision
    rules = {"sha256": ledger.rules_digest.removeprefix("sha256:")}
    facts = AttestationPredicateV1(
        kind=SubjectKind.LEDGER,
        verdict=verdict_of(tests, _DECISIONS.get(decision, Outcome.NOT_TESTED)),
        ledger=LedgerFacts(
            ledger_id=ledger.ledger_id,
            schema_version=ledger.schema_version,
            generated_at=ledger.generated_at,
            answer_digest=ledger.answer_digest,
            rules_digest=ledger.rules_digest,
            judge=str(ledger.judge),
            decision=decision.value,
            claims=msgspec.to_builtins(ledger.summary.by_verdict),
        ),
    )
    return SubjectSummary(
        subjects=(artifact,),
        facts=facts,
        tests=tests,
        configuration=(Artifact("ledger rules", rules),),
    )


def _report(artifact: Artifact, value: Mapping[str, JsonValue]) -> SubjectSummary:
    report = parse_report(value)
    parts = value.get("parts") if report.parts else None
    for each in parts.values() if isinstance(parts, dict) else (value,):
        kind = each.get("kind") if isinstance(each, dict) else None
        if not isinstance(each, dict) or kind not in METRICS_BY_KIND:
            problem = f"it has no gates that are known, and its kind is {excerpt(str(kind))}"
            raise AffidavitError(faults.ATTEST_KIND, problem=problem)
        # If its decision rests on rows that a report does not have, it is restated as it is.
        with suppress(NotReplayableError):
            _require_same(gate_differences(each))
    tests = tuple(_gate_tests(report))
    facts = AttestationPredicateV1(
        kind=SubjectKind.REPORT,
        verdict=verdict_of(tests, _DECISIONS.get(report.decision, Outcome.NOT_TESTED)),
        report=ReportFacts(
            schema_version=report.schema_version,
            kind=report.kind,
            decision=report.decision.value,
            inputs={name: one.digest for name, one in sorted(report.inputs.items())},
        ),
    )
    inputs = (
        Artifact(one.path, {"sha256": one.digest.removeprefix("sha256:")})
        for one in report.inputs.values()
        if one.digest is not None
    )
    return SubjectSummary(
        subjects=(artifact,), facts=facts, tests=tests, configuration=tuple(inputs)
    )


def _gate_tests(report: Report, prefix: str = "") -> Iterator[tuple[str, Outcome]]:
    for each in report.gates:
        yield f"{prefix}{each.gate}", _GATES.get(each.status, Outcome.NOT_TESTED)
    for name, part in sorted(report.parts.items()):
        yield from _gate_tests(part, f"{prefix}{name}:")


def _require_same(differences: Iterable[str]) -> None:
    found = list(differences)
    if found:
        raise AffidavitError(faults.ATTEST_INVALID, Where(), problem=excerpt(found[0], 200))
