"""JSON web keys: Ed25519 public keys of RFC 8037, and no others.

The algorithm comes from the document that the user trusts, never from what was signed. A document
that carries a private part is refused whole: somebody published a secret by mistake.
"""

from collections.abc import Mapping
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.places import excerpt
from affidavit.seal.keys import PublicKey, public_key_from_text

_ALGORITHMS: Final = ("EdDSA", "Ed25519")


def public_keys_from_jwks(keys: object) -> list[PublicKey]:
    """Return the keys of the list `keys` in a JWK set."""
    if not isinstance(keys, list):
        raise AffidavitError(faults.KEY_FORMAT, Where(field="keys"), problem="it is not a list")
    seen: set[str] = set()
    for jwk in keys:
        key_id = jwk.get("kid") if isinstance(jwk, dict) else None
        if isinstance(key_id, str) and key_id in seen:
            raise AffidavitError(faults.KEY_DUPLICATE_ID, key_id=excerpt(key_id))
        seen.add(str(key_id))
    found = []
    for place, jwk in enumerate(keys):
        try:
            found.append(public_key_from_jwk(jwk))
        except AffidavitError as error:
            raise error.at(field=f"keys[{place}]") from None
    return found


def public_key_from_jwk(jwk: object) -> PublicKey:
    """Return the key of one JWK; its `kid` must be the id that the key has."""
    if not isinstance(jwk, dict):
        raise AffidavitError(faults.KEY_FORMAT, problem="a key is a JSON object")
    _require_ed25519(jwk)
    if "d" in jwk:
        raise AffidavitError(faults.KEY_FORMAT, problem="it holds the private part, d")
    if jwk.get("use", "sig") != "sig":
        found = excerpt(str(jwk["use"]))
        raise AffidavitError(faults.KEY_USAGE, key_id=excerpt(str(jwk.get("kid"))), found=found)
    key_id = jwk.get("kid")
    if not isinstance(key_id, str):
        raise AffidavitError(faults.KEY_FORMAT, problem="it has no id, kid")
    return public_key_from_text(key_id, jwk.get("x"))


def _require_ed25519(jwk: Mapping[str, object]) -> None:
    kind, curve = jwk.get("kty"), jwk.get("crv")
    algorithm = jwk.get("alg", "Ed25519")
    for said, is_ours in (
        (kind, kind == "OKP"),
        (curve, curve == "Ed25519"),
        (algorithm, algorithm in _ALGORITHMS),
    ):
        if not is_ours:
            raise AffidavitError(faults.KEY_ALGORITHM, found=excerpt(str(said)))
