"""The Jinja environment of the HTML pages: values are escaped, a missing name is an error."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def page_templates(package: str = "affidavit.reports") -> "Environment":
    """Return the environment with the templates of a package; those of reports are in each."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    packages = dict.fromkeys((package, "affidavit.reports"))
    return Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
