"""The table `[hf]` of a judge's file."""

from typing import Annotated, Literal

import msgspec

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Meaning = Literal["supports", "partly", "neither", "contradicts"]


class HfV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings as the file says them.

    `model` is a folder, looked for from the place of the file, or a name of the hub. A name is
    only fetched if the user says so; without that, what was fetched before is used.
    """

    model: Text
    revision: Text | None = None
    allow_download: bool = False
    labels: dict[str, Meaning] = {}
    max_tokens: Annotated[int, msgspec.Meta(ge=16, le=100_000)] = 512
    supported_from: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.5
    contradicted_from: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.5

    def __hash__(self) -> int:
        return hash((self.model, self.revision, tuple(sorted(self.labels.items()))))
