"""A class name has one definition, and no call passes six values without their names."""

import ast
from collections import Counter
from collections.abc import Iterator

from tests.repository import Module, module_from_source, modules

# The ceilings may only fall (docs/adr/0017).
DUPLICATED_CLASSES: frozenset[str] = frozenset()
# A private class is seen in one module only; even so a name that returns is a word too few.
PRIVATE_DUPLICATES = 4
MAX_POSITIONAL = 5
LONG_CALLS = 13


def class_names(tree: tuple[Module, ...], *, private: bool) -> Iterator[str]:
    """Yield the name of every class at the top of a module, of the public or the private ones."""
    for module in tree:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("_") is private:
                yield node.name


def duplicated(tree: tuple[Module, ...], *, private: bool = False) -> frozenset[str]:
    """Return the class names that have more than one definition."""
    counts = Counter(class_names(tree, private=private))
    return frozenset(name for name, count in counts.items() if count > 1)


def long_calls(module: Module) -> Iterator[str]:
    """Yield the calls that pass more positional arguments than a reader can tell apart.

    A star stands for a sequence, not for a list of different things, so it does not count.
    """
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            values = [value for value in node.args if not isinstance(value, ast.Starred)]
            if len(values) > MAX_POSITIONAL:
                yield f"{module.name}:{node.lineno} passes {len(values)}"


def test_a_class_name_has_one_definition() -> None:
    assert duplicated(modules()) - DUPLICATED_CLASSES == frozenset()
    assert len(duplicated(modules(), private=True)) <= PRIVATE_DUPLICATES


def test_no_call_passes_six_positional_arguments() -> None:
    found = [call for module in modules() for call in long_calls(module)]
    assert len(found) <= LONG_CALLS, "\n".join(found)


def test_a_second_definition_is_found() -> None:
    source = "class Gate: ..."
    tree = (
        module_from_source("gates.one", f"{source}\nclass _Row: ..."),
        module_from_source("packs.two", source),
    )
    assert duplicated(tree) == {"Gate"}
    assert duplicated((*tree, tree[0]), private=True) == {"_Row"}


def test_a_long_call_is_found() -> None:
    source = "f(1, 2, 3, 4, 5)\nf(1, 2, 3, 4, 5, 6)\nf(1, *rest, 2, 3, 4, 5, k=6)"
    assert list(long_calls(module_from_source("gates.x", source))) == ["gates.x:2 passes 6"]
