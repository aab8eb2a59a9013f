"""Installs and uses the wheel in an empty environment outside the repository, core only.

`make dist-check` runs it after `make dist`. It installs the locked core with its hashes, so it
needs a package index or a filled cache and is not part of the offline suite.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_MEGABYTES = 90
"""The core with its dependencies and model weights, without pip itself."""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def site_packages(python: Path, folder: Path) -> Path:
    """Return the folder of the installed packages of an environment."""
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(run(python, "-c", where, cwd=folder).strip())


def megabytes(folder: Path, leave_out: tuple[str, ...] = ()) -> float:
    """Return the size of the files in a folder, leaving some of its entries out."""
    files = (
        path
        for entry in folder.iterdir()
        if not entry.name.startswith(leave_out)
        for path in ((entry,) if entry.is_file() else entry.rglob("*"))
        if path.is_file()
    )
    return sum(path.stat().st_size for path in files) / 1_000_000


def check(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment in `folder` and use it from there."""
    run(sys.executable, "-m", "venv", "env", cwd=folder)
    scripts = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    python, affidavit = scripts / "python", scripts / "affidavit"
    pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
    run(*pip, "--require-hashes", "-r", ROOT / "requirements" / "core.txt", cwd=folder)
    run(*pip, "--no-deps", "--no-index", wheel, cwd=folder)

    print(run(affidavit, "--version", cwd=folder).strip())
    assert "Usage" in run(affidavit, "--help", cwd=folder)
    print(run(affidavit, "doctor", cwd=folder).rstrip())
    run(python, "-m", "pip", "--disable-pip-version-check", "check", cwd=folder)

    size = megabytes(site_packages(python, folder), leave_out=("pip", "setuptools", "_distutils"))
    print(f"The core weighs {size:.1f} MB installed ({MAX_MEGABYTES} MB allowed)")
    if size >= MAX_MEGABYTES:
        sys.exit("The core is too heavy")


def main() -> None:
    """Check the one wheel in dist/."""
    wheels = sorted((ROOT / "dist").glob("affidavit-*.whl"))
    if len(wheels) != 1:
        sys.exit("dist/ must hold exactly one wheel; run `make dist`")
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="affidavit-wheel-") as folder:
        check(wheels[0], Path(folder))
    print(f"{wheels[0].name} works outside the repository ({time.perf_counter() - started:.0f} s)")


if __name__ == "__main__":
    main()
