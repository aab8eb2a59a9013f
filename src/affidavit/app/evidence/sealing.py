"""Seals the log of a run into a bundle, finished or not."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from affidavit.app.evidence.bundle_files import About, write_bundle
from affidavit.app.evidence.event_types import RUN_FINISHED
from affidavit.app.evidence.packs_block import NO_PACKS, PacksBlock
from affidavit.app.evidence.run_log import OpenLog, open_log
from affidavit.seal.bundle.drafting import Drafting
from affidavit.seal.bundle.manifest import Contents


@dataclass(frozen=True, slots=True)
class Sealed:
    """A bundle that was written. A torn line at the end of the log is not in it."""

    contents: Contents
    finished: bool
    torn_bytes: int

    def as_wire(self) -> dict[str, object]:
        """Return what was sealed, as machines get it."""
        return {
            "bundle_id": self.contents.run_root,
            "run_id": self.contents.run_id,
            "event_count": self.contents.count,
            "merkle_root": self.contents.merkle_root,
            "finished": self.finished,
            "torn_bytes": self.torn_bytes,
        }


@dataclass(slots=True)
class _Sealing:
    """What is learned while the log goes by."""

    log: OpenLog
    drafting: Drafting
    packs: PacksBlock
    finished: bool = False

    def lines(self) -> Iterator[bytes]:
        for draft in self.log.drafts:
            self.finished = draft.type == RUN_FINISHED
            yield self.drafting.line(draft)

    def about(self) -> About:
        torn = self.log.torn_bytes
        return About(
            self.finished,
            {"torn_bytes": torn} if torn else None,
            packs_applied=self.packs.packs_applied,
            mappings=self.packs.mappings,
        )


def seal_run(log_path: Path, target: Path, packs: PacksBlock = NO_PACKS) -> Sealed:
    """Write the bundle of a run's log. A run whose last event is not its end is unfinished."""
    with open_log(log_path) as log:
        sealing = _Sealing(log, Drafting(log.run), packs)
        contents = write_bundle(target, sealing.drafting, sealing.lines(), sealing.about)
        return Sealed(contents, sealing.finished, log.torn_bytes)
