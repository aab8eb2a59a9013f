"""A pack to begin with: valid as it is written, and made to be changed."""

from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.packs import PACK_EXISTS
from affidavit.base.files import write_atomically
from affidavit.packs.model import Pack
from affidavit.packs.reading import pack_from_yaml

_TEMPLATE: Final = """\
# Every field is described in docs/packs.md. Try it: affidavit packs validate {name}.yaml
name: {name}
version: "0.1.0"
kind: quality            # compliance (needs a disclaimer), security or quality
description: What our bundles have to show
author: us
license: Apache-2.0
requires:
  assay_min_version: ">=5.0.0"

rules:
  - id: OURS-001
    severity: error      # error, warning or info
    description: What started has finished
    help_markdown: |
      Say what the rule is for, and how to mend what it finds.
    x-assay:
      requires_signals: [run_inputs]     # affidavit evidence lint --explain completeness
    check:
      type: event_pairs
      start_pattern: "*.started"
      finish_pattern: "*.finished"

  - id: OURS-002
    severity: warning
    description: Every model call names its model
    event_types: [affidavit.model.call]
    x-assay:
      requires_signals: [model_identity]
    check:
      type: conditional
      condition:
        all:
          - path: /type
            equals: affidavit.model.call
      then:
        type: json_path_exists
        paths: [/data/model]
"""


def begin_pack(name: str, path: Path) -> Pack:
    """Write a pack with this name; a name that no pack may have, or a file, is refused."""
    raw = _TEMPLATE.format(name=name).encode("utf-8", "surrogateescape")
    pack = pack_from_yaml(raw, str(path), str(path))
    if path.exists():
        raise AffidavitError(PACK_EXISTS, Where(file=str(path)))
    write_atomically(path, raw)
    return pack
