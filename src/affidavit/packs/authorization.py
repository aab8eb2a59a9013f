"""Whether a tool decision says on whose authority it was made, without giving the authority away.

Origin: Assay's check `g3_authorization_context_present`: a principal, one of two schemes, and an
issuer of at most 2048 bytes, neither of which may look like a credential.
"""

import re
from typing import Any, Final

SCHEMES: Final = frozenset({"oauth2", "jwt_bearer"})
MAX_ISSUER_BYTES: Final = 2048
_CREDENTIAL: Final = re.compile(
    r"\s*bearer\s+\S.*|[\w-]+\.[\w-]+\.[\w-]+", re.IGNORECASE | re.ASCII | re.DOTALL
)
# A compact JWS has a header and a payload that begin like this in base64url: `{"`.
_JWS_START: Final = "eyJ"


def holds_context(data: Any) -> bool:
    """Say whether the payload of a tool decision has the whole context."""
    if not isinstance(data, dict):
        return False
    principal, issuer = data.get("principal"), data.get("auth_issuer")
    return (
        _is_name(principal)
        and data.get("auth_scheme") in SCHEMES
        and _is_name(issuer)
        and len(str(issuer).encode("utf-8", "surrogatepass")) <= MAX_ISSUER_BYTES
    )


def _is_name(value: Any) -> bool:
    if not isinstance(value, str) or not value.strip():
        return False
    looks_like_one = _CREDENTIAL.fullmatch(value)
    return looks_like_one is None or not (
        value.strip().lower().startswith("bearer") or value.startswith(_JWS_START)
    )
