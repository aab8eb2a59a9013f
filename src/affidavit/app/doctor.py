"""`affidavit doctor`: which libraries are installed, what works, and what to do next."""

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

DISTRIBUTION: Final = "affidavit"

# A requirement as the build writes it: `lxml>=5.3; extra == 'ledger'`.
_REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)\s*(\[[^\]]*\])?\s*(?P<bound>[^;]*?)\s*"
    r"(;.*\bextra\s*==\s*['\"](?P<extra>[^'\"]+).*)?"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A required package, of the core or of one extra. `bound` is as written, such as `>=8.2`."""

    name: str
    bound: str
    extra: str | None


@dataclass(frozen=True, slots=True)
class Needs:
    """The requirements of the core, and of each extra by name."""

    core: tuple[Requirement, ...]
    extras: tuple[tuple[str, tuple[Requirement, ...]], ...]


def find_needs() -> Needs | None:
    """Return the requirements in the metadata; None if Affidavit is not installed."""
    try:
        lines = metadata.requires(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    return needs_from(lines or ())


def needs_from(lines: Iterable[str]) -> Needs:
    """Sort requirement lines into the core and the extras.

    An extra that contains all of another one (`all`) is left out.
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
    """Return the extra that installs a module, by the name of the package."""
    needs = find_needs()
    wanted = normalized(module)
    for name, packages in needs.extras if needs and wanted else ():
        if any(_provides(normalized(package.name), wanted) for package in packages):
            return name
    return None


def normalized(name: str) -> str:
    """Return the normalized name of a package (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _provides(package: str, module: str) -> bool:
    # opentelemetry-proto provides opentelemetry.proto: the first word is the namespace package.
    return package == module or package.startswith(f"{module}-")


def _requirement_from(line: str) -> Requirement:
    match = _REQUIREMENT.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"unexpected requirement in the metadata: {line!r}")
    return Requirement(match["name"], match["bound"], match["extra"])


class HealthState(StrEnum):
    """The state of a package or trial. A missing extra is not an error."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageHealth:
    """A library: its installed version, and whether it can be imported."""

    name: str
    needed: str
    version: str | None
    state: HealthState
    detail: str | None
    next_step: str | None


@dataclass(frozen=True, slots=True)
class ExtraHealth:
    """A group of optional libraries, installed by `pip install 'affidavit[name]'`."""

    name: str
    state: HealthState
    packages: tuple[PackageHealth, ...]
    next_step: str | None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of a trial; `detail` describes it."""

    name: str
    state: HealthState
    detail: str
    next_step: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All results; `ok` if the core works and no installed library is broken."""

    ok: bool
    version: str
    python: str
    platform: str
    core: tuple[PackageHealth, ...]
    extras: tuple[ExtraHealth, ...]
    trials: tuple[TrialResult, ...]


def worst_of(states: tuple[HealthState, ...]) -> HealthState:
    """Return the worst of some states; OK for none."""
    order = (HealthState.BROKEN, HealthState.MISSING)
    return next((state for state in order if state in states), HealthState.OK)


# Folders that some packages install at the top level by mistake.
_NOT_MODULES: Final = frozenset({"benchmarks", "docs", "examples", "test", "tests"})

ImportProblems = Callable[[Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed distribution and its top-level modules."""

    version: str
    modules: tuple[str, ...]


def find_installed() -> Mapping[str, Installed]:
    """Return the installed distributions by normalized name."""
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
    """Return the state of each requirement by name."""
    wanted = {row.name: row for row in requirements}
    present = {name: found for name in wanted if (found := installed.get(normalized(name)))}
    modules = [module for found in present.values() for module in found.modules]
    problems = problems_importing(modules)
    return {name: _package_health(row, present.get(name), problems) for name, row in wanted.items()}


def extra_from(name: str, packages: tuple[PackageHealth, ...]) -> ExtraHealth:
    """Return an extra with the state of its worst package."""
    states = tuple(package.state for package in packages)
    next_step = f"pip install '{DISTRIBUTION}[{name}]'" if HealthState.MISSING in states else None
    return ExtraHealth(name, worst_of(states), packages, next_step)


def _package_health(
    needed: Requirement, installed: Installed | None, problems: Mapping[str, str]
) -> PackageHealth:
    package = f"'{needed.name}{needed.bound}'"
    version = None if installed is None else installed.version
    modules = () if installed is None else installed.modules
    detail = next((problems[module] for module in modules if module in problems), None)
    state, next_step = HealthState.OK, None
    if version is None:
        state, next_step = HealthState.MISSING, f"pip install {package}"
    elif detail is not None:
        state, next_step = HealthState.BROKEN, f"pip install --force-reinstall {package}"
    elif is_older(version, needed.bound):
        state, next_step = HealthState.BROKEN, f"pip install {package}"
        detail = f"version {version} is too old"
    return PackageHealth(
        name=needed.name,
        needed=needed.bound,
        version=version,
        state=state,
        detail=detail,
        next_step=next_step,
    )


def is_older(version: str, bound: str) -> bool:
    """Say whether a version is below a `>=` bound, by its leading numbers.

    Not covered: other bounds and pre-releases, which pip checks.
    """
    least = re.search(r">=\s*([0-9.]+)", bound)
    return least is not None and _release(version) < _release(least[1])


def _release(version: str) -> tuple[int, ...]:
    numbers = re.match(r"[0-9]+(\.[0-9]+)*", version)
    parts = [int(part) for part in numbers[0].split(".")] if numbers else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


# Imports are tried in another process, so that a native library that crashes does not end doctor.
TIMEOUT_SECONDS: Final = 120.0

# Prints one line per module on the original standard output: the name, a tab and the problem. The
# output of the libraries goes to standard error, which is discarded.
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
    """Import each module, and return the problems by module."""
    problems: dict[str, str] = {}
    left = list(modules)
    while left:
        answers, ended = _import_all(left, timeout_seconds)
        problems |= {name: problem for name, problem in answers.items() if problem}
        left = [name for name in left if name not in answers]
        if left:
            # The first module without an answer ended the process; the others get a new one.
            problems[left.pop(0)] = ended
    return problems


def _import_all(modules: list[str], timeout_seconds: float) -> tuple[dict[str, str], str]:
    """Return the answers by module, and why the process ended."""
    # -P: do not import from the current folder.
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
        output, ended = error.stdout, f"importing it takes more than {timeout_seconds:g} seconds"
    except OSError as error:
        output, ended = b"", f"no process could be started to import it ({error.strerror})"
    else:
        output, ended = child.stdout, f"importing it ends the process (code {child.returncode})"
    # An incomplete last line is not an answer.
    lines = (output or b"").decode("utf-8").split("\n")[:-1]
    pairs = (line.partition("\t") for line in lines)
    return {name: problem for name, _, problem in pairs}, ended


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
    """A trial gave a wrong result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A trial: the libraries that it needs, and the next step if it fails.

    An optional trial belongs to an extra; it does not fail if its libraries are not installed.
    """

    name: str
    run: Callable[[], str]
    next_step: str
    needs: tuple[str, ...] = ()
    optional: bool = False


def sign_and_verify() -> str:
    """Sign with a temporary key, verify, and check that a changed message is refused."""
    from secrets import token_bytes

    from affidavit.seal.crypto import is_valid_signature, public_key_of_seed, sign

    seed = token_bytes(32)
    public_key, signature = public_key_of_seed(seed), sign(seed, b"the truth")
    if not is_valid_signature(public_key, signature, b"the truth"):
        raise TrialFailed("a valid signature was refused")
    if is_valid_signature(public_key, signature, b"the lies!"):
        raise TrialFailed("a signature was accepted for another message")
    return "an Ed25519 signature is valid, and is refused for a changed message"


def canonicalize() -> str:
    """Write the sample of RFC 8785 in canonical form."""
    from affidavit.base.canonical import jcs

    if jcs(_JCS_INPUT) != _JCS_OUTPUT:
        raise TrialFailed("the sample of RFC 8785 has the wrong canonical form")
    return "the sample of RFC 8785 is reproduced byte for byte"


def write_a_file() -> str:
    """Write a file atomically over another one, and read it back."""
    from affidavit.base.files import read_bounded, write_atomically

    with TemporaryDirectory(prefix="affidavit-doctor-") as folder:
        path = Path(folder) / "file"
        write_atomically(path, b"old")
        write_atomically(path, b"new")
        if read_bounded(path, limit=3) != b"new":
            raise TrialFailed("the content of a file differs from what was written")
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
        raise TrialFailed("a row differs from what was written")
    return f"SQLite {sqlite3.sqlite_version} stores a row"


def read_a_pair() -> str:
    """Load the judge's encoder, check its files, and read a pair of texts twice."""
    from affidavit.judge.encoder import STANDARD, load_encoder

    encoder = load_encoder(STANDARD)
    pair = ("The ledger was signed on 3 May.", "The ledger was signed in May.")
    if encoder.read(*pair) != encoder.read(*pair):
        raise TrialFailed("the same pair gave two different results")
    return f"a pair of texts gives the same result twice with {encoder.digest}"


ATTEMPTS: Final = (
    Attempt(
        name="signatures",
        run=sign_and_verify,
        needs=("cryptography",),
        next_step="pip install --force-reinstall cryptography",
    ),
    Attempt(
        name="canonical JSON",
        run=canonicalize,
        needs=("orjson", "rfc8785"),
        next_step="pip install --force-reinstall orjson rfc8785",
    ),
    Attempt(
        name="files",
        run=write_a_file,
        next_step="free space in the folder for temporary files (TMPDIR)",
    ),
    Attempt(
        name="database",
        run=ask_a_database,
        next_step="use a Python that is built with sqlite3",
    ),
    Attempt(
        name="encoder",
        run=read_a_pair,
        needs=("numpy", "onnxruntime", "tokenizers"),
        next_step="pip install --force-reinstall 'affidavit[ledger]'",
        optional=True,
    ),
)


def make_trial(attempt: Attempt, packages: Mapping[str, PackageHealth]) -> TrialResult:
    """Run one trial, unless a library that it needs is broken and might crash the process."""
    unfit = [
        name
        for name in attempt.needs
        if name in packages and packages[name].state is not HealthState.OK
    ]
    if unfit:
        detail = f"not tried because it needs {' and '.join(unfit)}"
        missing = all(packages[name].state is HealthState.MISSING for name in unfit)
        return _failed(attempt, detail, missing)
    try:
        return TrialResult(attempt.name, HealthState.OK, attempt.run(), None)
    except AffidavitError as error:
        return _failed(attempt, error.message, error.fault is ENCODER_MISSING)
    except Exception as error:
        # Report whatever a broken library raises.
        return _failed(attempt, f"{type(error).__name__}: {error}", missing=False)


def _failed(attempt: Attempt, detail: str, missing: bool) -> TrialResult:
    state = HealthState.MISSING if attempt.optional and missing else HealthState.BROKEN
    return TrialResult(attempt.name, state, detail, attempt.next_step)


def examine(
    find_needs: Callable[[], Needs | None] = find_needs,
    find_installed: Callable[[], Mapping[str, Installed]] = find_installed,
    problems_importing: ImportProblems = problems_importing,
    attempts: Iterable[Attempt] = ATTEMPTS,
) -> Examination:
    """Examine this environment and try what the core needs.

    Every installed library is imported once, in another process. Nothing is changed, and nothing is
    sent.
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
        detail = "Affidavit runs from its source files; the libraries that it needs are unknown"
        next_step = "pip install -e . in its folder"
        return TrialResult("installation", HealthState.BROKEN, detail, next_step)
    return TrialResult(
        "installation", HealthState.OK, "Affidavit is installed with its metadata", None
    )
