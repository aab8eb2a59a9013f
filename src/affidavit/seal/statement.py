"""In-toto statements about a bundle, a receipt, a ledger or a gate report.

Origin: in-toto attestation framework, spec/v1/statement.md. A predicate is a pure function of what
it is about, so a verifier computes it again and compares. Four predicates can be made of the same
summary: ours, in-toto's test-result v0.1 and svr v0.2, and Assay's for evidence bundles.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import attestation as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.base.timestamps import find_timestamp
from affidavit.seal.bundle.manifest import MappingV1

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
ATTESTATION: Final = "urn:affidavit:attestation:v1"
TEST_RESULT: Final = "https://in-toto.io/attestation/test-result/v0.1"
SVR: Final = "https://in-toto.io/attestation/svr/v0.2"
ASSAY: Final = "https://docs.getassay.dev/attestation/evidence-bundle/v1"
VERIFIER: Final = "urn:affidavit:verifier:v1"

# The name of a predicate on the command line, and in the media type of a payload.
PREDICATE_TYPES: Final[Mapping[str, str]] = {
    "affidavit": ATTESTATION,
    "test-result": TEST_RESULT,
    "svr": SVR,
    "assay": ASSAY,
}
_PAYLOAD_TYPE: Final = re.compile(r"application/vnd\.in-toto(?:\.([a-z0-9-]+))?\+json")
_MEMBERS: Final = ("_type", "subject", "predicateType", "predicate")
_ALGORITHMS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_HEX: Final = re.compile(r"[0-9a-f]+")

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Digest = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Number = Annotated[int, Meta(ge=0)]


class SubjectKind(StrEnum):
    """What can be attested."""

    BUNDLE = "bundle"
    RECEIPT = "receipt"
    LEDGER = "ledger"
    REPORT = "report"


class Outcome(StrEnum):
    """How one rule, check or gate ended. Not tested is never a pass."""

    PASSED = "passed"
    WARNED = "warned"
    FAILED = "failed"
    NOT_TESTED = "not_tested"


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of our predicate."""


class VerdictSummary(_Part, frozen=True):
    """The outcome, how many tests ended how, and which failed or warned."""

    result: Outcome
    passed: Number
    warned: Number
    failed: Number
    not_tested: Number
    failed_tests: tuple[str, ...] = ()
    warned_tests: tuple[str, ...] = ()


class BundleFacts(_Part, frozen=True):
    """What a bundle holds. The Merkle root is absent from bundles of other producers."""

    bundle_id: Digest
    run_id: str
    event_count: Number
    manifest_sha256: Sha256
    events_sha256: Sha256
    finished: bool | None = None
    merkle_root: Digest | None = None
    tree_size: Number | None = None


class AttestedPack(_Part, frozen=True):
    """A pack that was run. Both digests, because Assay's leaves parts of a pack out."""

    name: str
    version: str
    kind: str
    digest: Digest
    registry_digest: Digest
    engine: str


class ClosureSummary(_Part, frozen=True):
    """The closure report: the SHA-256 of its RFC 8785 form, and its figures as decimal texts."""

    sha256: Sha256
    score: str
    confidence: str
    signals: str


class ReceiptFacts(_Part, frozen=True):
    """What a receipt says. Its own signature is verified with the receipt, not here."""

    receipt_id: str
    key_id: str
    issuer: str
    generated_at: str
    verdict: str
    evidence_count: Number


class LedgerFacts(_Part, frozen=True):
    """What a ledger says."""

    ledger_id: str
    schema_version: str
    generated_at: str
    answer_digest: Digest
    rules_digest: Digest
    judge: str
    decision: str
    claims: dict[str, Number]


class ReportFacts(_Part, frozen=True):
    """What a gate report says."""

    schema_version: str
    kind: str
    decision: str
    inputs: dict[str, str | None]


class AttestationPredicateV1(_Part, frozen=True):
    """Our predicate. Every member follows from the subject and the packs that it names."""

    kind: SubjectKind
    verdict: VerdictSummary
    bundle: BundleFacts | UnsetType = UNSET
    packs: tuple[AttestedPack, ...] | UnsetType = UNSET
    mappings: tuple[MappingV1, ...] | UnsetType = UNSET
    closure_report: ClosureSummary | UnsetType = UNSET
    receipt: ReceiptFacts | UnsetType = UNSET
    ledger: LedgerFacts | UnsetType = UNSET
    report: ReportFacts | UnsetType = UNSET


class Artifact(Struct, frozen=True):
    """An artifact: a name for people, and its digests by algorithm, which alone identify it."""

    name: str
    digests: Mapping[str, str]


class SubjectSummary(Struct, frozen=True, kw_only=True):
    """What is known about a subject: everything that a predicate is made of.

    `tests` are rules, checks or gates by name. `configuration` are the packs or gates behind them.
    `assay` is Assay's predicate, which only a bundle has.
    """

    subjects: tuple[Artifact, ...]
    facts: AttestationPredicateV1
    tests: tuple[tuple[str, Outcome], ...] = ()
    configuration: tuple[Artifact, ...] = ()
    assay: Mapping[str, JsonValue] | None = None
    assay_name: str = ""


def verdict_of(
    tests: Sequence[tuple[str, Outcome]], result: Outcome | None = None
) -> VerdictSummary:
    """Return the verdict of tests: the worst, unless the subject itself states a result."""
    counts = Counter(status for _, status in tests)
    worst = (Outcome.FAILED, Outcome.WARNED, Outcome.PASSED)
    found = next((each for each in worst if counts[each]), Outcome.NOT_TESTED)
    return VerdictSummary(
        result=found if result is None else result,
        passed=counts[Outcome.PASSED],
        warned=counts[Outcome.WARNED],
        failed=counts[Outcome.FAILED],
        not_tested=counts[Outcome.NOT_TESTED],
        failed_tests=_with(tests, Outcome.FAILED),
        warned_tests=_with(tests, Outcome.WARNED),
    )


def _with(tests: Sequence[tuple[str, Outcome]], status: Outcome) -> tuple[str, ...]:
    return tuple(name for name, each in tests if each is status)


def statement_bytes(predicate: str, summary: SubjectSummary, created_at: str) -> bytes:
    """Return the canonical statement with a predicate; `created_at` is for those that have a time.

    Raises if the subject has no such predicate.
    """
    subjects = summary.subjects
    if predicate == ASSAY:
        # Assay matches one subject, the archive, under the id of the bundle.
        subjects = (Artifact(summary.assay_name, summary.subjects[0].digests),)
    return jcs(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": one.name, "digest": dict(one.digests)} for one in subjects],
            "predicateType": predicate,
            "predicate": predicate_of(predicate, summary, created_at),
        }
    )


def predicate_of(predicate: str, summary: SubjectSummary, created_at: str) -> dict[str, JsonValue]:
    """Return the members of a predicate, as they must be for this subject."""
    if predicate == ATTESTATION:
        made: dict[str, JsonValue] = msgspec.json.decode(msgspec.json.encode(summary.facts))
        return made
    if predicate == TEST_RESULT:
        return _test_result(summary)
    if predicate == SVR:
        return _svr(summary, created_at)
    if summary.assay is None:
        raise _no_predicate("assay", summary, "only a bundle has one")
    return dict(summary.assay)


def _test_result(summary: SubjectSummary) -> dict[str, JsonValue]:
    result = summary.facts.verdict.result
    if result is Outcome.NOT_TESTED:
        raise _no_predicate("test-result", summary, "nothing in it was decided")
    return {
        "result": result.value.upper(),
        "configuration": _descriptors(summary.configuration),
        "passedTests": list(_with(summary.tests, Outcome.PASSED)),
        "warnedTests": list(_with(summary.tests, Outcome.WARNED)),
        "failedTests": list(_with(summary.tests, Outcome.FAILED)),
    }


def _svr(summary: SubjectSummary, created_at: str) -> dict[str, JsonValue]:
    """Only what passed is a property. The subject verified or replayed, or there is no summary."""
    passed = (name for name, status in summary.tests if status is Outcome.PASSED)
    result = summary.facts.verdict.result
    overall = ("AFFIDAVIT_PASSED",) if result is Outcome.PASSED else ()
    return {
        "verifier": {"id": VERIFIER, "policies": _descriptors(summary.configuration)},
        "timeCreated": created_at,
        "properties": [
            f"AFFIDAVIT_{summary.facts.kind.value.upper()}_VERIFIED",
            *overall,
            *(f"AFFIDAVIT_TEST:{name}" for name in passed),
        ],
    }


def _descriptors(subjects: Sequence[Artifact]) -> list[JsonValue]:
    return [{"name": one.name, "digest": dict(one.digests)} for one in subjects]


def _no_predicate(name: str, summary: SubjectSummary, problem: str) -> AffidavitError:
    kind = summary.facts.kind.value
    return AffidavitError(faults.ATTEST_PREDICATE, predicate=name, kind=kind, problem=problem)


class Statement(Struct, frozen=True):
    """A statement that was read: its subjects, and its predicate as decoded JSON."""

    subjects: tuple[Artifact, ...]
    predicate_type: str
    predicate: Mapping[str, JsonValue]

    @property
    def created_at(self) -> str:
        """The time that the predicate states, if it has one; it proves nothing."""
        found = self.predicate.get("timeCreated")
        return found if isinstance(found, str) else ""


def require_payload_type(found: str) -> None:
    """Raise unless a payload type is that of in-toto statements. It is compared as it stands."""
    if _PAYLOAD_TYPE.fullmatch(found) is None:
        raise AffidavitError(faults.DSSE_PAYLOAD_TYPE, found=excerpt(found), known=PAYLOAD_TYPE)


def statement_from(payload: bytes, payload_type: str) -> Statement:
    """Return the statement of a payload whose signature was verified."""
    value = decode(payload)
    if not isinstance(value, dict):
        raise _malformed("it is not a JSON object")
    kind = value.get("_type")
    if kind != STATEMENT_TYPE:
        found = excerpt(str(kind), 80)
        raise AffidavitError(faults.STATEMENT_TYPE, found=found, known=STATEMENT_TYPE)
    for name in value:
        if name not in _MEMBERS:
            raise AffidavitError(faults.JSON_UNKNOWN_MEMBER, name=excerpt(name))
    predicate_type = value.get("predicateType")
    if not isinstance(predicate_type, str):
        raise _malformed("predicateType is not a text")
    _require_predicate_type(predicate_type, payload_type)
    predicate = value.get("predicate", {})
    if not isinstance(predicate, dict):
        raise _malformed("predicate is not an object")
    return Statement(_subjects(value.get("subject")), predicate_type, predicate)


def _require_predicate_type(found: str, payload_type: str) -> None:
    shown = excerpt(found, 80)
    if found not in PREDICATE_TYPES.values():
        raise AffidavitError(
            faults.STATEMENT_PREDICATE_TYPE, found=shown, problem="is not known here"
        )
    match = _PAYLOAD_TYPE.fullmatch(payload_type)
    named = None if match is None else match[1]
    if named is not None and PREDICATE_TYPES.get(named) != found:
        problem = f"is not the one of the payload type {payload_type}"
        raise AffidavitError(faults.STATEMENT_PREDICATE_TYPE, found=shown, problem=problem)


def _subjects(value: JsonValue) -> tuple[Artifact, ...]:
    if not isinstance(value, list) or not value:
        raise AffidavitError(faults.STATEMENT_SUBJECT, problem="it has no subject")
    return tuple(_subject(each, f"subject[{at}]") for at, each in enumerate(value))


def _subject(value: JsonValue, place: str) -> Artifact:
    digests = value.get("digest") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(digests, dict) or not digests:
        problem = f"{place} has no digest"
        raise AffidavitError(faults.STATEMENT_SUBJECT, Where(field=place), problem=problem)
    for name in value:
        if name not in ("name", "digest"):
            raise AffidavitError(faults.JSON_UNKNOWN_MEMBER, name=f"{place}.{excerpt(name)}")
    # Digests of other algorithms are left to those who know them.
    known = {each: digest for each, digest in digests.items() if each in _ALGORITHMS}
    if not known:
        found = excerpt(", ".join(digests))
        raise AffidavitError(faults.STATEMENT_DIGEST_ALGORITHM, what=place, found=found)
    for algorithm, digest in digests.items():
        size = _ALGORITHMS.get(algorithm, 0)
        if not isinstance(digest, str) or (size and not _is_hex(digest, size)):
            what = f"{place}.digest"
            raise AffidavitError(faults.STATEMENT_DIGEST_FORMAT, what=what, algorithm=algorithm)
    stated = value.get("name", "")
    texts = {each: str(digest) for each, digest in known.items()}
    return Artifact(stated if isinstance(stated, str) else "", texts)


def _is_hex(digest: str, size: int) -> bool:
    return len(digest) == size and _HEX.fullmatch(digest) is not None


def _malformed(problem: str) -> AffidavitError:
    return AffidavitError(faults.STATEMENT_FORMAT, problem=problem)


def require_subjects(statement: Statement, found: Sequence[Artifact]) -> None:
    """Raise unless a statement is about exactly these artifacts. Names mean nothing.

    `found` has every algorithm that a statement may use. Assay's statements name the archive alone.
    """
    wanted = found[:1] if statement.predicate_type == ASSAY else found
    if len(statement.subjects) != len(wanted):
        said, has = f"{len(statement.subjects)} subjects", f"{len(wanted)}"
        raise AffidavitError(faults.STATEMENT_MISMATCH, said=said, found=has)
    for stated, real in zip(statement.subjects, wanted, strict=True):
        same = {name for name, digest in stated.digests.items() if real.digests[name] == digest}
        different = sorted(stated.digests.keys() - same)
        if same and different:
            algorithm = different[0]
            raise AffidavitError(
                faults.STATEMENT_DIGEST_CONFLICT, what=excerpt(real.name), algorithm=algorithm
            )
        if different:
            algorithm = different[0]
            raise AffidavitError(
                faults.STATEMENT_MISMATCH,
                said=f"{algorithm}:{stated.digests[algorithm]}",
                found=f"{algorithm}:{real.digests[algorithm]}",
            )


def require_predicate(statement: Statement, summary: SubjectSummary) -> None:
    """Raise unless every member of the predicate is the one that the subject gives.

    A time that a predicate states is only required to be a time: nothing can recompute it.
    """
    created_at = statement.created_at
    if statement.predicate_type == SVR and find_timestamp(created_at) is None:
        raise _malformed("timeCreated is not a time like 2026-01-31T14:30:00Z")
    wanted = predicate_of(statement.predicate_type, summary, created_at)
    difference = next(_differences(statement.predicate, wanted, "predicate"), None)
    if difference is not None:
        field, said, found = difference
        raise AffidavitError(
            faults.STATEMENT_PREDICATE, Where(field=field), field=field, said=said, found=found
        )


_ABSENT: Final = object()


def _differences(said: Any, found: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield each place where two values differ, with both values in short."""
    if isinstance(said, Mapping) and isinstance(found, Mapping):
        for key in (*said, *(each for each in found if each not in said)):
            inner = said.get(key, _ABSENT), found.get(key, _ABSENT)
            yield from _differences(*inner, f"{path}.{excerpt(key)}")
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for at, pair in enumerate(zip(said, found, strict=True)):
            yield from _differences(*pair, f"{path}[{at}]")
    elif type(said) is not type(found) or said != found:
        yield path, _shown(said), _shown(found)


def _shown(value: object) -> str:
    return "nothing" if value is _ABSENT else excerpt(jcs(value).decode(), 120)
