"""The documentation that comes with the program, page by page."""

from pathlib import Path

import affidavit
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults

_PACKAGE = Path(affidavit.__file__).parent
# The wheel contains the pages; in a checkout they are at the root of the repository.
_FOLDERS = (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs")


def help_topics() -> dict[str, str]:
    """Return the topics and the title of each page."""
    return {
        path.stem: _title(path.read_text("utf-8"))
        for path in sorted(_folder().glob("*.md"))
        if path.stem != "README"
    }


def _title(page: str) -> str:
    # A page that is made from the code has a comment above its title.
    return next(line for line in page.splitlines() if line.startswith("# ")).removeprefix("# ")


def help_page(topic: str) -> str:
    """Return the page of a topic, as Markdown."""
    topics = help_topics()
    if topic not in topics:
        raise AffidavitError(faults.HELP_TOPIC, topic=topic, known=", ".join(topics))
    return (_folder() / f"{topic}.md").read_text("utf-8")


def _folder() -> Path:
    return next((folder for folder in _FOLDERS if folder.is_dir()), _FOLDERS[0])
