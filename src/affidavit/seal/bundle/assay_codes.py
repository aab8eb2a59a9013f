"""What Assay calls what we refuse, for those who know its codes.

Ours are finer: Assay calls every kind of JSON that it cannot read by one name. Where it has no name
it accepts what we refuse.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ASSAY_CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "archive.format": "IntegrityGzip",
        "archive.corrupt": "IntegrityGzip",
        "archive.path": "SecurityPathTraversal",
        "archive.type": "ContractUnexpectedFile",
        "archive.duplicate": "ContractDuplicateFile",
        "archive.unlisted": "ContractUnexpectedFile",
        "archive.missing": "ContractMissingFile",
        "archive.order": "ContractFileOrder",
        "limit.bundle_bytes": "LimitBundleBytes",
        "limit.decode_bytes": "LimitDecodeBytes",
        "limit.manifest_bytes": "LimitFileSize",
        "limit.events_bytes": "LimitFileSize",
        "limit.events": "LimitTotalEvents",
        "limit.line_bytes": "LimitLineBytes",
        "limit.path": "LimitPathLength",
        "limit.members": "ContractUnexpectedFile",
        "json.syntax": "ContractInvalidJson",
        "json.encoding": "ContractInvalidJson",
        "json.unicode": "ContractInvalidJson",
        "json.trailing": "ContractInvalidJson",
        "json.duplicate_key": "ContractInvalidJson",
        "json.number_domain": "ContractInvalidJson",
        "json.depth": "LimitJsonDepth",
        "limit.json_keys": "ContractInvalidJson",
        "limit.json_string": "ContractInvalidJson",
        "bundle.manifest": "ContractInvalidJson",
        "bundle.version": "ContractSchemaVersion",
        "bundle.size": "IntegrityFileSizeMismatch",
        "digest.mismatch": "IntegrityManifestHash",
        "bundle.event": "ContractInvalidEvent",
        "bundle.event_hash": "IntegrityEventHash",
        "bundle.sequence": "ContractSequenceGap",
        "bundle.run_id": "ContractRunIdMismatch",
        "bundle.empty": "ContractInvalidEvent",
        "bundle.count": "ContractSequenceGap",
        "bundle.run_root": "IntegrityRunRootMismatch",
        "bundle.id": "ContractBundleIdMismatch",
    }
)
# Refused here, and accepted there.
OURS_ALONE: Final = (
    "archive.gzip_members",
    "archive.trailing",
    "canon.noncanonical",
    "canon.unicode_collision",
    "bundle.merkle_root",
)
