"""The gates that a project configures in `affidavit.toml`: its tables `[gates.*]`.

Everything that can be wrong with them is found here, before anything is measured, with the line of
the file. Paths are relative to the file. Other tables of it belong to others and are left alone.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gate_runs as faults
from affidavit.base.faults.input import FILE_MISSING
from affidavit.base.files import read_bounded
from affidavit.gates.metrics import BY_KIND
from affidavit.gates.report import Report
from affidavit.gates.rows import placed_problem
from affidavit.gates.thresholds import gates_with
from affidavit.wiring import gate_plans as plans
from affidavit.wiring import gate_settings as settings
from affidavit.wiring.toml_lines import line_of

MAX_BYTES: Final = 1024 * 1024
_HISTORY: Final = "history"
_KINDS: Final[Mapping[str, type[settings.AnyGate]]] = MappingProxyType(
    {
        "rag": settings.RagV1,
        "latency": settings.LatencyV1,
        "agreement": settings.AgreementV1,
        "stability": settings.StabilityV1,
        "research": settings.ResearchV1,
    }
)


@dataclass(frozen=True, slots=True)
class GateConfig:
    """The gates of a project in the order of the table above, and where its history is kept."""

    gates: tuple[tuple[str, plans.Plan], ...]
    history: Path | None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that the gates read."""
        return tuple(name for _, plan in self.gates for name in plan.inputs)

    def runs(self) -> tuple[tuple[str, Callable[[], Report]], ...]:
        """Return each gate with what decides it."""
        return tuple((name, plan.run) for name, plan in self.gates)


def load_gate_config(path: Path) -> GateConfig:
    """Return the gates of a config file; one that configures none is an error."""
    try:
        raw = read_bounded(path, MAX_BYTES)
    except AffidavitError as error:
        if error.fault is FILE_MISSING:
            raise AffidavitError(faults.CONFIG_MISSING, error.where) from None
        raise
    text, value = _toml(raw, str(path))
    try:
        return _config(value.get("gates"), path.parent)
    except AffidavitError as error:
        field = error.where.field or ""
        line = line_of(text, tuple(field.replace("[", ".").split("."))) if field else None
        raise error.at(file=str(path), line=line) from None


def _toml(raw: bytes, file: str) -> tuple[str, dict[str, Any]]:
    problem, line = "", None
    try:
        text = raw.decode("utf-8-sig")
        return text, tomllib.loads(text)
    except UnicodeDecodeError:
        problem = "the text is not UTF-8"
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem, line = str(error).rstrip("."), getattr(error, "lineno", None)
    raise AffidavitError(faults.CONFIG_SYNTAX, Where(file=file, line=line), problem=problem)


def _config(table: Any, folder: Path) -> GateConfig:
    if not table:
        raise AffidavitError(faults.CONFIG_EMPTY)
    if not isinstance(table, dict):
        raise _wrong("gates", "gates are tables with a name each, such as [gates.rag]")
    _require_known(table, (*_KINDS, _HISTORY), "gates")
    gates = tuple(
        (name, plans.plan_of(_settings(name, form, table[name]), folder))
        for name, form in _KINDS.items()
        if name in table
    )
    if not gates:
        raise AffidavitError(faults.CONFIG_EMPTY)
    history = table.get(_HISTORY)
    if history is not None and (not isinstance(history, str) or not history):
        raise _wrong(f"gates.{_HISTORY}", "it is not the name of a file")
    return GateConfig(gates, None if history is None else folder / history)


def _settings(name: str, form: type[settings.AnyGate], table: Any) -> settings.AnyGate:
    place = f"gates.{name}"
    if not isinstance(table, dict):
        raise _wrong(place, f"it is not a table; write [{place}]")
    _require_known(table, form.__struct_fields__, place)
    try:
        made = msgspec.convert(table, form)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise _wrong(f"{place}.{field}" if field else place, problem) from None
    if isinstance(made, settings.AgreementV1):
        _require_labels(made, place)
    _require_gates(made, name)
    return made


def _require_gates(made: settings.AnyGate, name: str) -> None:
    """Refuse a gate that cannot be read here, where the line is known."""
    texts = (made.gates,) if isinstance(made.gates, str) else made.gates
    try:
        gates_with(texts, (), BY_KIND[name])
    except AffidavitError as error:
        raise error.at(field=f"gates.{name}.gates") from None


def _require_labels(made: settings.AgreementV1, place: str) -> None:
    labels = (made.scholar, made.auditor)
    if bool(made.pairs) is any(labels) or (any(labels) and not all(labels)):
        raise _wrong(place, "it needs pairs, or both scholar and auditor")
    if made.scholar is not None and made.scholar == made.auditor:
        raise _wrong(f"{place}.auditor", "it is the scholar's file, which agrees with itself")


def _require_known(table: Mapping[str, object], known: Iterable[str], place: str) -> None:
    names = tuple(known)
    for key in table:
        if key not in names:
            near = get_close_matches(key, names, n=1)
            raise AffidavitError(
                faults.CONFIG_KEY,
                Where(field=f"{place}.{key}"),
                key=key,
                nearest=f"did you mean {near[0]!r}? If not, " if near else "",
                known=", ".join(names),
            )


def _wrong(field: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.CONFIG_VALUE, Where(field=field), problem=problem)
