"""The bodies of requests and responses, as the OpenAPI document describes them.

Requests are decoded by the rules of the checks, not by these structs; a test keeps the two equal.
"""

from typing import Annotated, Any, Final, Literal

import msgspec

from affidavit.app.tool_queries import DEFAULT_DEADLINE_MS, MAX_DEADLINE_MS
from affidavit.checks.check import Check
from affidavit.checks.receipt import MAX_LINKED, AnswerV1, RefusalV1
from affidavit.checks.routes import END_PUNCTUATION, MAX_QUESTION_CHARACTERS

DeadlineMilliseconds = Annotated[int, msgspec.Meta(ge=1, le=MAX_DEADLINE_MS)]
Checks = Annotated[list[Check], msgspec.Meta(min_length=1)]
# A question needs a word: a character that is neither white space nor closing punctuation. White
# space is spelled out, because `\s` differs between dialects of regular expressions.
_WHITE_SPACE: Final = r"\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
QuestionText = Annotated[
    str,
    msgspec.Meta(
        max_length=MAX_QUESTION_CHARACTERS, pattern=rf"[^{_WHITE_SPACE}{END_PUNCTUATION}]"
    ),
]
Timestamp = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9](\.[0-9]{1,9})?Z$",
        extra_json_schema={"format": "date-time"},
    ),
]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
# Canonical base64: the unused bits before the padding are zero.
Base64 = Annotated[
    str,
    msgspec.Meta(
        pattern="^(?:[A-Za-z0-9+/]{4})*"
        "(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
    ),
]


class ChecksRequestV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checks to evaluate. Those beyond the cap are listed as `not_checked`.

    With `split` they are answered in linked receipts.
    """

    checks: Checks
    deadline_ms: DeadlineMilliseconds = DEFAULT_DEADLINE_MS
    split: bool = False


class QuestionRequestV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, or a statement, that the route table compiles to checks."""

    question: QuestionText
    deadline_ms: DeadlineMilliseconds = DEFAULT_DEADLINE_MS


class SignatureV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The Ed25519 signature over the receipt without its signature and anchor."""

    alg: Literal["Ed25519"]
    key_id: str
    canonicalization: Literal["json-sorted-compact"]
    sig: str


class SelfAnchorV1(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="status", tag="self_anchor"
):
    """The digest of the signed receipt, which can be time-stamped later."""

    digest_sha256: Digest
    how: Any = msgspec.UNSET
    note: Any = msgspec.UNSET


class StampAnchorV1(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="status", tag="rfc3161"
):
    """A time stamp over the digest of the signed receipt."""

    digest_sha256: Digest
    token: Base64
    how: Any = msgspec.UNSET
    note: Any = msgspec.UNSET


class ReceiptV1(msgspec.Struct, frozen=True, kw_only=True):
    """The members that a receipt needs to be verified. The steps check everything else."""

    schema: Literal["answer/v1"]
    receipt_id: str
    generated_at: Timestamp
    signature: SignatureV1
    anchor: SelfAnchorV1 | StampAnchorV1 | msgspec.UnsetType = msgspec.UNSET


class AnswerReceiptV1(AnswerV1, frozen=True, kw_only=True):
    """A signed answer."""

    receipt_id: str
    signature: SignatureV1
    anchor: SelfAnchorV1 | StampAnchorV1 | msgspec.UnsetType = msgspec.UNSET


class RefusalReceiptV1(RefusalV1, frozen=True, kw_only=True):
    """A signed refusal of a question that no route covers."""

    receipt_id: str
    signature: SignatureV1
    anchor: SelfAnchorV1 | StampAnchorV1 | msgspec.UnsetType = msgspec.UNSET


class LinkedReceiptsV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Linked receipts to verify together."""

    receipts: Annotated[list[ReceiptV1], msgspec.Meta(min_length=1, max_length=MAX_LINKED)]


class LinkedAnswersV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The signed answers to a request with `split`, each linked to the one before."""

    receipts: Annotated[list[AnswerReceiptV1], msgspec.Meta(min_length=1, max_length=MAX_LINKED)]


class StatusV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The status of the service."""

    status: Literal["alive", "ready"]


class FaultV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The explanation of an error code. Words in braces are placeholders."""

    code: str
    name: str
    message: str
    next: str
    status: int | None
