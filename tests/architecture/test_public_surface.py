"""What `import affidavit` offers is exactly what it says it offers."""

from types import ModuleType

import affidavit


def test_all_is_what_is_visible_and_sorted() -> None:
    visible = [
        name
        for name, value in vars(affidavit).items()
        if name == "__version__" or not (name.startswith("_") or isinstance(value, ModuleType))
    ]
    assert affidavit.__all__ == sorted(visible, key=str.casefold)


def test_every_promised_name_exists() -> None:
    assert [name for name in affidavit.__all__ if not hasattr(affidavit, name)] == []
