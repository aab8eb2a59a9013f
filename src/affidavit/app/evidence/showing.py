"""Shows a bundle: what stands in it, counted, and the events that are asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from affidavit.app.evidence.bundle_files import opened_bundle
from affidavit.app.evidence.portrait import Portrait
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits


def show_bundle(
    path: Path,
    is_listed: Callable[[str], bool] | None = None,
    limits: BundleLimits = DEFAULT_LIMITS,
) -> tuple[Portrait, list[dict[str, Any]]]:
    """Return what a bundle holds, and its events of the types that are to be listed.

    Both are returned only when the whole bundle has been verified.
    """
    listed = []
    with opened_bundle(path, limits) as reader:
        portrait = Portrait(reader.manifest)
        for _, event in reader.events():
            portrait.add(event)
            if is_listed is not None and is_listed(str(event["type"])):
                listed.append(event)
    return portrait, listed
