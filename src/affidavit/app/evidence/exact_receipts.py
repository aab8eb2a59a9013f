"""A receipt as an event keeps it: so that its signature and its replay still hold.

A bundle is written as RFC 8785 has it, where 1.0 is 1. A receipt is signed over a text in which the
two differ, and many have a confidence of 0.0. Such a receipt is kept with its exact text beside it.
"""

from collections.abc import Mapping

from affidavit.base.canonical import jcs, sorted_compact
from affidavit.base.json_limits import JsonValue
from affidavit.base.strict_json import decode


def receipt_data(receipt: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the data of the event of a receipt, with its exact text if a bundle changes it."""
    kept = dict(receipt)
    exact = sorted_compact(kept)
    if sorted_compact(decode(jcs(kept))) == exact:
        return {"receipt": kept}
    return {"receipt": kept, "exact": exact.decode()}
