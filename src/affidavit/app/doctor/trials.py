"""What the core lives on, really tried: each trial does the thing once and says what came of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from affidavit.app.doctor.model import Package, State, Trial
from affidavit.base.errors import AffidavitError
from affidavit.base.faults.encoder import ENCODER_MISSING

# RFC 8785, section 3.2.2: the sample input, and section 3.2.3: its canonical form.
_JCS_INPUT: Final = {
    "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27],
    "string": '\u20ac$\u000f\nA\'B"\\\\"/',
    "literals": [None, True, False],
}
_JCS_OUTPUT: Final = (
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
    '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
).encode()


class TrialFailed(Exception):
    """The thing was done, and what came of it is wrong."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A trial before it is made: the libraries it needs, and what to do if it fails.

    An optional one belongs to an extra: that what it needs is not installed is no failure.
    """

    name: str
    run: Callable[[], str]
    needs: tuple[str, ...]
    next_step: str
    optional: bool = False


def sign_and_verify() -> str:
    """Sign with a throw-away key, verify, and see a changed message refused."""
    from secrets import token_bytes

    from affidavit.seal.ed25519 import is_valid, public_key_from, sign

    seed = token_bytes(32)
    public_key, signature = public_key_from(seed), sign(seed, b"the truth")
    if not is_valid(public_key, signature, b"the truth"):
        raise TrialFailed("a good signature was refused")
    if is_valid(public_key, signature, b"the lies!"):
        raise TrialFailed("a signature was accepted for another message")
    return "an Ed25519 signature holds, and fails for a changed message"


def canonicalize() -> str:
    """Bring the sample of RFC 8785 into its canonical form."""
    from affidavit.base.canonical import jcs

    if jcs(_JCS_INPUT) != _JCS_OUTPUT:
        raise TrialFailed("the sample of RFC 8785 came out otherwise")
    return "the sample of RFC 8785 comes out byte for byte"


def write_a_file() -> str:
    """Write a file atomically over another one, and read it back."""
    from affidavit.base.files import read_bounded, write_atomically

    with TemporaryDirectory(prefix="affidavit-doctor-") as folder:
        path = Path(folder) / "file"
        write_atomically(path, b"old")
        write_atomically(path, b"new")
        if read_bounded(path, limit=3) != b"new":
            raise TrialFailed("a file was read back otherwise than it was written")
    return "a file is replaced atomically and read back"


def ask_a_database() -> str:
    """Write to an SQLite database and read it back."""
    import sqlite3

    database = sqlite3.connect(":memory:")
    try:
        database.execute("create table claim (text text not null)")
        database.execute("insert into claim values (?)", ("the truth",))
        rows = database.execute("select text from claim").fetchall()
    finally:
        database.close()
    if rows != [("the truth",)]:
        raise TrialFailed("a row was read back otherwise than it was written")
    return f"SQLite {sqlite3.sqlite_version} keeps a row"


def read_a_pair() -> str:
    """Load the judge's encoder, its files checked, and read a pair of texts twice."""
    from affidavit.judge.encoder import load_encoder

    encoder = load_encoder()
    pair = ("The ledger was signed on 3 May.", "The ledger was signed in May.")
    if encoder.read(*pair) != encoder.read(*pair):
        raise TrialFailed("the same pair was read in two ways")
    return f"a pair of texts is read in the same way twice by {encoder.digest}"


ATTEMPTS: Final = (
    Attempt(
        "signatures",
        sign_and_verify,
        ("cryptography",),
        "pip install --force-reinstall cryptography",
    ),
    Attempt(
        "canonical JSON",
        canonicalize,
        ("orjson", "rfc8785"),
        "pip install --force-reinstall orjson rfc8785",
    ),
    Attempt("files", write_a_file, (), "make room in the folder for temporary files (TMPDIR)"),
    Attempt("database", ask_a_database, (), "use a Python that was built with sqlite3"),
    Attempt(
        "encoder",
        read_a_pair,
        ("numpy", "onnxruntime", "tokenizers"),
        "pip install --force-reinstall 'affidavit[ledger]'",
        optional=True,
    ),
)


def make_trial(attempt: Attempt, packages: Mapping[str, Package]) -> Trial:
    """Make one attempt. A library that is known not to work is not tried: it might crash us."""
    unfit = [
        name for name in attempt.needs if name in packages and packages[name].state is not State.OK
    ]
    if unfit:
        detail = f"not tried, because it needs {' and '.join(unfit)}"
        missing = all(packages[name].state is State.MISSING for name in unfit)
        return _failed(attempt, detail, missing)
    try:
        return Trial(attempt.name, State.OK, attempt.run(), None)
    except AffidavitError as error:
        return _failed(attempt, error.message, error.fault is ENCODER_MISSING)
    except Exception as error:
        # Whatever a broken library raises is what the user wants to know.
        return _failed(attempt, f"{type(error).__name__}: {error}", missing=False)


def _failed(attempt: Attempt, detail: str, missing: bool) -> Trial:
    state = State.MISSING if attempt.optional and missing else State.BROKEN
    return Trial(attempt.name, state, detail, attempt.next_step)
