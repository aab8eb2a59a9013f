"""The nouns of the command table: what can be called, and where it is found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """A command line that works as written, and what it does in a few words."""

    line: str
    says: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A command. `target` is `module:attribute`, imported only when the command is called."""

    name: str
    target: str
    help: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A command with commands below it: `evidence` of `evidence lint`."""

    name: str
    help: str
    examples: tuple[Example, ...]
    sections: tuple["Section", ...]

    def members(self) -> tuple["Leaf | Branch", ...]:
        """Return what stands directly below, in the order of the help."""
        return tuple(member for section in self.sections for member in section.members)


@dataclass(frozen=True, slots=True)
class Section:
    """Commands that the help lists under one title."""

    title: str
    members: tuple[Leaf | Branch, ...]
