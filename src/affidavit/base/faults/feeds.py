"""AF350 to AF369: tools and their sources, as a config file declares them."""

from affidavit.base.errors import Fault

TOOLS_SYNTAX = Fault(
    "AF350",
    "tools.syntax",
    "this is not {kind} as it is read here: {problem}",
    "correct the text at that place",
)
TOOLS_FIELD = Fault(
    "AF351",
    "tools.field",
    "{problem}",
    "docs/tools.md lists every field of a tool and of each kind of source",
)
TOOLS_FORM = Fault(
    "AF352",
    "tools.form",
    "a config file ends in .toml, .yaml or .yml, and this one does not",
    "rename it, or name another file",
)
TOOLS_NONE = Fault(
    "AF353",
    "tools.none",
    "the file declares no tool",
    "add a table [tools.NAME]; docs/tools.md shows one",
)
TOOL_SOURCES = Fault(
    "AF354",
    "tool.sources",
    "the tool {tool!r} {problem}",
    "docs/tools.md shows a tool with every kind of source",
)
DEADLINE = Fault(
    "AF355",
    "answer.deadline",
    "a deadline of {given} ms is not possible",
    "give a whole number of milliseconds from 1 to {limit}",
)
