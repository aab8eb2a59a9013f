"""`import affidavit` offers exactly what `__all__` lists."""

import subprocess
import sys

import affidavit

# Names that are bound on first use, so that the import stays cheap.
LAZY = {"AffidavitError"}


def test_all_is_sorted_and_equal_to_the_visible_names() -> None:
    # A fresh process: once a module of affidavit is imported, it is an attribute of it.
    code = "import affidavit; print(*vars(affidavit))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    visible = {name for name in done.stdout.split() if not name.startswith("_")}
    assert affidavit.__all__ == sorted(visible | LAZY | {"__version__"})


def test_every_promised_name_exists() -> None:
    assert [name for name in affidavit.__all__ if not hasattr(affidavit, name)] == []
