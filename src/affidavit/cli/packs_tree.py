"""The part of the table of commands that is about packs of lint rules."""

from typing import Final

from affidavit.cli.tree import Branch, Example, Leaf, Section

PACKS: Final = Branch(
    "packs",
    "List, show, check and begin packs of lint rules.",
    (
        Example("affidavit packs list", "which packs there are"),
        Example("affidavit packs show cicd-starter", "what a pack asks for"),
        Example("affidavit packs new my-team", "begin a pack of your own"),
    ),
    (
        Section(
            "Packs",
            (
                Leaf("list", "affidavit.cli.packs:list_packs", "List the packs that can be named."),
                Leaf("show", "affidavit.cli.packs:show", "Show what a pack asks for."),
                Leaf(
                    "validate",
                    "affidavit.cli.packs:validate",
                    "Check that packs can be run together.",
                ),
                Leaf("new", "affidavit.cli.packs:new", "Begin a pack of your own."),
            ),
        ),
    ),
)
