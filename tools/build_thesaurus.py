"""Rebuilds the thesaurus of the search: words that a sentence encoder places near each other.

    python -m tools.build_thesaurus FOLDER MODEL

FOLDER contains gzipped JSON lines with a `premise` and a `hypothesis` each; only the list of their
frequent words is used. MODEL is the folder of all-MiniLM-L6-v2 (Apache-2.0), which reads each word
alone. Kept of both is only which stems are nearest to a word, and how near, in 1/255: neither text
nor weights can be rebuilt from it. It needs the extras `hf` and `ledger`.
"""

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import AutoModel

from affidavit.base.digest import sha256_hex
from affidavit.documents.search_terms import (
    HEADER,
    MANIFEST,
    THESAURUS,
    WHOLE,
    stems_of,
    stop_stems,
)

DATA = Path(__file__).parent.parent / "src/affidavit/documents/data"
LEFT_OUT = ("cad_nli", "fever_nei", "paws_ni", "tabfact")
"""Sets whose words others have, or that are not running text."""
LEAST_COUNT = 12  # Rarer words are names and misspellings, mostly.
DIMENSIONS = 256
NEAREST = 150
SYNONYMS = 24
LEAST_LIKENESS = 0.2  # Any two words are about so alike; a strength counts from here.
BATCH = 256
_LETTERS = re.compile(r"[^\W\d_]+")
Vectors = NDArray[numpy.float32]


def count_words(folder: Path) -> Counter[str]:
    """Count the words of all sets."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.glob("*.jsonl.gz")):
        if path.name.removesuffix(".jsonl.gz") in LEFT_OUT:
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                counts.update(_LETTERS.findall(row["premise"].lower()))
                counts.update(_LETTERS.findall(row["hypothesis"].lower()))
    return counts


def choose_words(counts: Counter[str], tokenizer: Tokenizer) -> list[str]:
    """Return the frequent words and those of the model's own vocabulary, sorted."""
    own = (word for word in tokenizer.get_vocab() if word.isalpha() and len(word) > 1)
    frequent = (word for word, n in counts.items() if n >= LEAST_COUNT and len(word) > 2)
    return sorted(filter(str.isascii, {*own, *frequent}))


def encode_words(words: Sequence[str], model: Path, tokenizer: Tokenizer) -> Vectors:
    """Return the model's vector of each word: the mean over its tokens, marks included."""
    network = AutoModel.from_pretrained(model)
    rows = [encoding.ids for encoding in tokenizer.encode_batch(list(words))]
    found = numpy.zeros((len(words), 384), dtype=numpy.float32)
    with torch.inference_mode():
        for batch in _batches(rows):
            tokens = torch.tensor([rows[number] for number in batch])
            found[batch] = network(tokens).last_hidden_state.mean(1).numpy()
    return found


def _batches(rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the numbers of rows of one length, so that nothing is padded."""
    by_length: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        by_length.setdefault(len(row), []).append(number)
    for _, numbers in sorted(by_length.items()):
        for first in range(0, len(numbers), BATCH):
            yield numbers[first : first + BATCH]


def place_words(vectors: Vectors, counts: Sequence[int]) -> Vectors:
    """Return unit vectors without what all words have in common, in their main directions."""
    middle = numpy.average(vectors, axis=0, weights=numpy.sqrt(numpy.array(counts) + 1))
    centred = vectors - middle
    some = centred[::4]
    _, directions = numpy.linalg.eigh(some.T @ some)
    placed = centred @ directions[:, ::-1][:, :DIMENSIONS]
    unit: Vectors = (placed / numpy.linalg.norm(placed, axis=1, keepdims=True)).astype("float32")
    return unit


def nearest_stems(words: Sequence[str], placed: Vectors) -> dict[str, list[tuple[str, float]]]:
    """Return for each word the stems of the words next to it, nearest first."""
    stems, small = [stems_of(word)[0] for word in words], stop_stems()
    found = {}
    for first in range(0, len(words), BATCH):
        likeness = placed[first : first + BATCH] @ placed.T
        near = numpy.argpartition(-likeness, NEAREST, axis=1)[:, :NEAREST]
        for row, others in enumerate(near):
            own = stems[first + row]
            if own in small:
                continue
            best: dict[str, float] = {}
            for other in others:
                stem, value = stems[other], float(likeness[row, other])
                if stem != own and stem not in small:
                    best[stem] = max(value, best.get(stem, 0.0))
            found[words[first + row]] = sorted(best.items(), key=lambda kv: (-kv[1], kv[0]))
    return found


def thesaurus_bytes(nearest: dict[str, list[tuple[str, float]]]) -> bytes:
    """Return the file; affidavit/documents/search_terms.py says what it looks like."""
    words = sorted(nearest)
    kept = [nearest[word][:SYNONYMS] for word in words]
    stems = sorted({stem for row in kept for stem, _ in row})
    number_of = {stem: number for number, stem in enumerate(stems)}
    numbers = numpy.zeros((len(words), SYNONYMS), dtype="<u2")
    strengths = numpy.zeros((len(words), SYNONYMS), dtype=numpy.uint8)
    for at, row in enumerate(kept):
        for rank, (stem, likeness) in enumerate(row):
            numbers[at, rank] = number_of[stem]
            strengths[at, rank] = round(WHOLE * max(0.0, likeness - LEAST_LIKENESS))
    lists = ["\n".join(words).encode("ascii"), "\n".join(stems).encode("ascii")]
    header = HEADER.pack(len(lists[0]), len(lists[1]), SYNONYMS)
    return b"".join([header, *lists, numbers.tobytes(), strengths.tobytes()])


def write_thesaurus(data: bytes, model_digest: str) -> None:
    """Write the thesaurus and the manifest that names its digest and its origin."""
    manifest = {
        "sha256": sha256_hex(data),
        "model": {
            "name": "all-MiniLM-L6-v2",
            "license": "Apache-2.0",
            "sha256": model_digest,
        },
    }
    DATA.mkdir(exist_ok=True)
    (DATA / THESAURUS).write_bytes(data)
    (DATA / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def main(folder: Path, model: Path) -> None:
    """Build the thesaurus and write it into the package."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    counts = count_words(folder)
    words = choose_words(counts, tokenizer)
    vectors = encode_words(words, model, tokenizer)
    placed = place_words(vectors, [counts[word] for word in words])
    data = thesaurus_bytes(nearest_stems(words, placed))
    write_thesaurus(data, sha256_hex((model / "model.safetensors").read_bytes()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
