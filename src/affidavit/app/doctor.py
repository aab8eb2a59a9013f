"""The use case behind `affidavit doctor`: what is installed, what works, and what to do next."""

import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from affidavit import __version__
from affidavit.base.errors import AffidavitError
from affidavit.base.faults.evidence import ENCODER_MISSING

# What Affidavit needs and what it can use besides, as its own package metadata says.

DISTRIBUTION: Final = "affidavit"

# A requirement as the build writes it: `lxml>=5.3; extra == 'ledger'`.
_REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)\s*(\[[^\]]*\])?\s*(?P<bound>[^;]*?)\s*"
    r"(;.*\bextra\s*==\s*['\"](?P<extra>[^'\"]+).*)?"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that is needed: always, or by one extra. `bound` is as written, e.g. `>=8.2`."""

    name: str
    bound: str
    extra: str | None


@dataclass(frozen=True, slots=True)
class Needs:
    """What the core needs, and each extra by name."""

    core: tuple[Requirement, ...]
    extras: tuple[tuple[str, tuple[Requirement, ...]], ...]


def find_needs() -> Needs | None:
    """Return what the metadata says; None where Affidavit runs without being installed."""
    try:
        lines = metadata.requires(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    return needs_from(lines or ())


def needs_from(lines: Iterable[str]) -> Needs:
    """Sort requirement lines into the core and the extras.

    An extra that holds all of another one is a bundle of extras (`all`): it says nothing new.
    """
    rows = [row for row in map(_requirement_from, lines) if row.name != DISTRIBUTION]
    names = sorted({row.extra for row in rows if row.extra is not None})
    packages = {name: {row.name for row in rows if row.extra == name} for name in names}
    plain = [
        name
        for name in names
        if not any(packages[other] < packages[name] for other in names if other != name)
    ]
    return Needs(
        tuple(row for row in rows if row.extra is None),
        tuple((name, tuple(row for row in rows if row.extra == name)) for name in plain),
    )


def find_extra_with(module: str) -> str | None:
    """Return the extra that installs a module, judged by the package's name."""
    needs = find_needs()
    wanted = normalized(module)
    for name, packages in needs.extras if needs and wanted else ():
        if any(_provides(normalized(package.name), wanted) for package in packages):
            return name
    return None


def normalized(name: str) -> str:
    """Return a package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _provides(package: str, module: str) -> bool:
    # opentelemetry-proto provides opentelemetry.proto: the first word is the shared name space.
    return package == module or package.startswith(f"{module}-")


def _requirement_from(line: str) -> Requirement:
    match = _REQUIREMENT.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"the metadata has a requirement of another form: {line!r}")
    return Requirement(match["name"], match["bound"], match["extra"])


# What an examination finds.


class HealthState(StrEnum):
    """How something was found. Missing is no fault by itself: an extra is a choice."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class PackageHealth:
    """A library: the version that is installed, and whether Python can import it."""

    name: str
    needed: str
    version: str | None
    state: HealthState
    detail: str | None
    next_step: str | None


@dataclass(frozen=True, slots=True)
class ExtraHealth:
    """A group of optional libraries, as `pip install 'affidavit[name]'` installs it."""

    name: str
    state: HealthState
    packages: tuple[PackageHealth, ...]
    next_step: str | None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Something that was really tried; `detail` says what came of it."""

    name: str
    state: HealthState
    detail: str
    next_step: str | None


@dataclass(frozen=True, slots=True)
class Examination:
    """The whole of it. It is well when the core works and nothing that is installed is broken."""

    ok: bool
    version: str
    python: str
    platform: str
    core: tuple[PackageHealth, ...]
    extras: tuple[ExtraHealth, ...]
    trials: tuple[TrialResult, ...]


def worst_of(states: tuple[HealthState, ...]) -> HealthState:
    """Return the worst of some states; nothing at all is ok."""
    order = (HealthState.BROKEN, HealthState.MISSING)
    return next((state for state in order if state in states), HealthState.OK)


# Which libraries are installed, in which version, and whether they can be imported.

# Folders that some packages install at the top by mistake.
_NOT_MODULES: Final = frozenset({"benchmarks", "docs", "examples", "test", "tests"})

ImportProblems = Callable[[Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed distribution and the top-level modules it brings."""

    version: str
    modules: tuple[str, ...]


def find_installed() -> Mapping[str, Installed]:
    """Return what is installed, by normalized name."""
    modules: dict[str, list[str]] = {}
    for module, names in metadata.packages_distributions().items():
        if module.isidentifier() and not module.startswith("_") and module not in _NOT_MODULES:
            for name in set(names):
                modules.setdefault(normalized(name), []).append(module)
    found: dict[str, Installed] = {}
    for distribution in metadata.distributions():
        name = normalized(distribution.metadata["Name"])
        # The first on the path is the one that Python imports.
        found.setdefault(
            name, Installed(distribution.version, tuple(sorted(modules.get(name, ()))))
        )
    return found


def examine_packages(
    requirements: Iterable[Requirement],
    installed: Mapping[str, Installed],
    problems_importing: ImportProblems,
) -> Mapping[str, PackageHealth]:
    """Return a finding for each requirement, by its name."""
    wanted = {row.name: row for row in requirements}
    present = {name: found for name in wanted if (found := installed.get(normalized(name)))}
    modules = [module for found in present.values() for module in found.modules]
    problems = problems_importing(modules)
    return {name: _package_health(row, present.get(name), problems) for name, row in wanted.items()}


def extra_from(name: str, packages: tuple[PackageHealth, ...]) -> ExtraHealth:
    """Return an extra with the state of its worst package; what is broken has its own next step."""
    states = tuple(package.state for package in packages)
    next_step = f"pip install '{DISTRIBUTION}[{name}]'" if HealthState.MISSING in states else None
    return ExtraHealth(name, worst_of(states), packages, next_step)


def _package_health(
    needed: Requirement, installed: Installed | None, problems: Mapping[str, str]
) -> PackageHealth:
    name, bound = needed.name, needed.bound
    install = f"pip install '{name}{bound}'"
    if installed is None:
        return PackageHealth(name, bound, None, HealthState.MISSING, None, install)
    detail = next((problems[module] for module in installed.modules if module in problems), None)
    if detail is not None:
        again = f"pip install --force-reinstall '{name}{bound}'"
        return PackageHealth(name, bound, installed.version, HealthState.BROKEN, detail, again)
    if is_older(installed.version, bound):
        detail = f"version {installed.version} is too old"
        return PackageHealth(name, bound, installed.version, HealthState.BROKEN, detail, install)
    return PackageHealth(name, bound, installed.version, HealthState.OK, None, None)


def is_older(version: str, bound: str) -> bool:
    """Say whether a version is below a `>=` bound, by its leading numbers.

    Not covered: other bounds and pre-releases; pip judges those when it installs.
    """
    least = re.search(r">=\s*([0-9.]+)", bound)
    return least is not None and _release(version) < _release(least[1])


def _release(version: str) -> tuple[int, ...]:
    numbers = re.match(r"[0-9]+(\.[0-9]+)*", version)
    parts = [int(part) for part in numbers[0].split(".")] if numbers else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


# Try imports in a process of their own: a native library that crashes must not end the doctor.

TIMEOUT_SECONDS: Final = 120.0

# One line per module on the original standard output: its name, a tab, and what went wrong. What a
# library itself prints goes where nobody reads it.
_PROGRAM: Final = """
import importlib, os, sys
answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
os.dup2(2, 1)
for name in sys.argv[1:]:
    problem = ""
    try:
        importlib.import_module(name)
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}".replace("\\n", " ")
    answers.write(f"{name}\\t{problem}\\n")
    answers.flush()
os._exit(0)
"""


def problems_importing(
    modules: Sequence[str], timeout_seconds: float = TIMEOUT_SECONDS
) -> Mapping[str, str]:
    """Import each module, and return what went wrong by module; no entry means that it works."""
    problems: dict[str, str] = {}
    left = list(modules)
    while left:
        answers, ended = _import_all(left, timeout_seconds)
        problems |= {name: problem for name, problem in answers.items() if problem}
        left = [name for name in left if name not in answers]
        if left:
            # The first without an answer is the one that ended the process; the rest get another.
            problems[left.pop(0)] = ended
    return problems


def _import_all(modules: list[str], timeout_seconds: float) -> tuple[dict[str, str], str]:
    """Return the answers that came, and why there are no more of them."""
    # -P: what lies in the current folder is not what is installed.
    command = [sys.executable, "-P", "-W", "ignore", "-c", _PROGRAM, *modules]
    try:
        child = subprocess.run(  # noqa: S603 - our own interpreter and program, installed modules
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said, ended = error.stdout, f"importing it takes more than {timeout_seconds:g} seconds"
    except OSError as error:
        said, ended = b"", f"no process could be started to import it ({error.strerror})"
    else:
        said, ended = child.stdout, f"importing it ends the process (code {child.returncode})"
    # A last line without its end is no answer.
    lines = (said or b"").decode("utf-8").split("\n")[:-1]
    pairs = (line.partition("\t") for line in lines)
    return {name: problem for name, _, problem in pairs}, ended


# What the core lives on, really tried: each trial does the thing once and says what came of it.

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

    from affidavit.seal.crypto import is_valid_signature, public_key_of_seed, sign

    seed = token_bytes(32)
    public_key, signature = public_key_of_seed(seed), sign(seed, b"the truth")
    if not is_valid_signature(public_key, signature, b"the truth"):
        raise TrialFailed("a good signature was refused")
    if is_valid_signature(public_key, signature, b"the lies!"):
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
    from affidavit.judge.encoder.reader import load_encoder

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


def make_trial(attempt: Attempt, packages: Mapping[str, PackageHealth]) -> TrialResult:
    """Make one attempt. A library that is known not to work is not tried: it might crash us."""
    unfit = [
        name
        for name in attempt.needs
        if name in packages and packages[name].state is not HealthState.OK
    ]
    if unfit:
        detail = f"not tried, because it needs {' and '.join(unfit)}"
        missing = all(packages[name].state is HealthState.MISSING for name in unfit)
        return _failed(attempt, detail, missing)
    try:
        return TrialResult(attempt.name, HealthState.OK, attempt.run(), None)
    except AffidavitError as error:
        return _failed(attempt, error.message, error.fault is ENCODER_MISSING)
    except Exception as error:
        # Whatever a broken library raises is what the user wants to know.
        return _failed(attempt, f"{type(error).__name__}: {error}", missing=False)


def _failed(attempt: Attempt, detail: str, missing: bool) -> TrialResult:
    state = HealthState.MISSING if attempt.optional and missing else HealthState.BROKEN
    return TrialResult(attempt.name, state, detail, attempt.next_step)


# The use case behind `affidavit doctor`: what is installed, what works, what to do.


def examine(
    find_needs: Callable[[], Needs | None] = find_needs,
    find_installed: Callable[[], Mapping[str, Installed]] = find_installed,
    problems_importing: ImportProblems = problems_importing,
    attempts: Iterable[Attempt] = ATTEMPTS,
) -> Examination:
    """Look at this environment and try what the core lives on.

    Every library that is installed is imported once, in another process. Nothing is changed, and
    nothing leaves the machine.
    """
    needs = find_needs()
    known = needs or Needs((), ())
    requirements = (*known.core, *(row for _, rows in known.extras for row in rows))
    packages = examine_packages(requirements, find_installed(), problems_importing)
    core = tuple(packages[row.name] for row in known.core)
    extras = tuple(
        extra_from(name, tuple(packages[row.name] for row in rows)) for name, rows in known.extras
    )
    trials = (_installation(needs), *(make_trial(attempt, packages) for attempt in attempts))
    needed = tuple(package.state for package in core)
    others = (*(extra.state for extra in extras), *(trial.state for trial in trials))
    return Examination(
        ok=worst_of(needed) is HealthState.OK and worst_of(others) is not HealthState.BROKEN,
        version=__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=platform.platform(),
        core=core,
        extras=extras,
        trials=trials,
    )


def _installation(needs: Needs | None) -> TrialResult:
    if needs is None:
        said = "Affidavit runs from its source files; which libraries it needs is not known"
        return TrialResult(
            "installation", HealthState.BROKEN, said, "pip install -e . in its folder"
        )
    return TrialResult(
        "installation", HealthState.OK, "Affidavit is installed with its metadata", None
    )
