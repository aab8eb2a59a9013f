"""Rows to measure on, never trained on: developer sets, and rule-made edits of their documents.

    python -m tools.train_judge.heldout DATA/dev OUT.jsonl [--sets N] [--edits N]

The edits use the rules of the training on documents it has not seen; each kind is drawn from the
sentences of news articles, bills, dialogues and web pages.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np

from tools.train_judge import families
from tools.train_judge.sources import draw, read_pairs
from tools.train_judge.windows import premise_for

# Kept for the final measurement only; nothing may be selected on them.
EVALUATION_ONLY = frozenset({"attributionbench_id", "lfqa_verification", "qags"})
EDITED_DOCUMENTS = ("bump", "frank", "summedits", "cg2c_doc")
SEED = 77


def set_rows(path: Path, limit: int) -> Iterator[dict[str, object]]:
    """A seeded sample of one set; truth is 1 for supported and 0 for all else."""
    pairs = sorted(read_pairs(path), key=lambda pair: draw(pair, SEED))
    for pair in pairs[:limit] if limit else pairs:
        yield {
            "group": pair.source,
            "truth": int(pair.target == 0),
            "premise": premise_for(pair.hypothesis, pair.premise),
            "claim": pair.hypothesis,
        }


def _documents(data: Path) -> list[families.Passage]:
    texts = {p.premise for name in EDITED_DOCUMENTS for p in read_pairs(data / f"{name}.jsonl.gz")}
    ordered = sorted(texts, key=lambda text: (crc32(f"{SEED}|{text}".encode()), text))
    return [families.read_passage(text) for text in ordered]


def edit_rows(data: Path, limit: int) -> Iterator[dict[str, object]]:
    """Edits by kind, and the unedited originals, over documents of the developer sets."""
    documents = [document for document in _documents(data) if document.claims()]
    for name, kind in sorted(families.KINDS.items()):
        rng = np.random.default_rng([SEED, crc32(name.encode())])
        made = 0
        for document in documents:
            place = int(rng.choice(document.claims()))
            claim, text = document.parts[place], document.text()
            window = premise_for(claim, text)
            edited = kind.edit(claim, text, rng)
            if edited is None or edited == claim:
                continue
            made += 1
            near = premise_for(edited, text)
            yield {"group": f"edit_{name}", "truth": 0, "premise": near, "claim": edited}
            yield {"group": "originals", "truth": 1, "premise": window, "claim": claim}
            if made == limit:
                break
    yield from _removed_rows(documents, limit)


def _removed_rows(documents: list[families.Passage], limit: int) -> Iterator[dict[str, object]]:
    for name, maker in (("removed", families.removed_family), ("partial", families.partial_family)):
        rng = np.random.default_rng([SEED, crc32(name.encode())])
        made = 0
        for document in documents:
            family = maker(document, int(rng.choice(document.claims())), rng)
            if not family:
                continue
            made += 1
            for pair in family:
                group = f"edit_{name}" if pair.target else f"restated_{name}"
                row = {"group": group, "truth": int(not pair.target)}
                yield {**row, "premise": pair.premise, "claim": pair.hypothesis}
            if made == limit:
                break


def main() -> None:
    """Write the rows of one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", type=int, default=0, help="rows per set; 0 is all")
    parser.add_argument("--edits", type=int, default=300, help="edits per kind")
    parser.add_argument("--evaluation-only", action="store_true", help="add the sets kept apart")
    given = parser.parse_args()
    with given.out.open("w", encoding="utf-8") as out:
        for path in sorted(given.data.glob("*.jsonl.gz")):
            name = path.name.removesuffix(".jsonl.gz")
            if given.evaluation_only or name not in EVALUATION_ONLY:
                for row in set_rows(path, given.sets):
                    out.write(json.dumps(row) + "\n")
        for row in edit_rows(given.data, given.edits):
            out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
