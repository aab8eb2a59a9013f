"""Golden files: outputs that a person has reviewed, compared to the byte."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Golden:
    """The golden files of one folder of tests: those of tests/cli/ are in tests/golden/cli/."""

    folder: Path
    update: bool = False

    def check(self, name: str, actual: str | bytes) -> None:
        """Compare with the file `name`, or rewrite it under `make golden`."""
        path = self.folder / name
        data = actual.encode() if isinstance(actual, str) else actual
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            return
        advice = f"{path.name} differs: read what changed, then `make golden`"
        assert path.exists(), f"{path.name} is missing: read the output, then `make golden`"
        expected = path.read_bytes()
        if isinstance(actual, str):
            assert actual == expected.decode(), advice
        assert data == expected, advice
