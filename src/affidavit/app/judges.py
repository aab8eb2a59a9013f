"""Selects the judge: a built-in one, or one that a settings file describes.

The choice is hashable and picklable, so that every process of a batch builds the same judge. API
keys are not part of it: each process reads them from its environment.
"""

import os
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import structs

from affidavit.app.project import Project
from affidavit.base.config import ConfigFaults, read_config
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.judge.chat.settings import ChatSettings, chat_settings
from affidavit.judge.encoder import FAST, STANDARD
from affidavit.judge.huggingface_settings import HfSettings, hf_settings
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.protocol import Judge
from affidavit.judge.standard.judge import StandardJudge
from affidavit.ledger.rules import LedgerRules


class BuiltIn(StrEnum):
    """The built-in judges, by their names for `--judge`."""

    STANDARD = STANDARD
    FAST = FAST
    LEXICAL = "lexical"


_BUILT_IN: Final[dict[BuiltIn, Callable[[], Judge]]] = {
    BuiltIn.STANDARD: StandardJudge,
    BuiltIn.FAST: partial(StandardJudge, FAST),
    BuiltIn.LEXICAL: LexicalJudge,
}
"""A new judge has a name above and a line here."""

DEFAULT_JUDGE: Final = BuiltIn.STANDARD


class CascadeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[cascade]`: a built-in judge reads first, the judge of the file what is uncertain.

    `margin` is how close to its bound a score is uncertain, and `passages` how many passages of an
    uncertain claim are sent.
    """

    first: BuiltIn = DEFAULT_JUDGE
    margin: Annotated[float, msgspec.Meta(ge=0, le=0.5)] = 0.2
    passages: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4


class CascadeChoice(msgspec.Struct, frozen=True):
    """A cascade, and the judge that it asks."""

    settings: CascadeSettings
    larger: ChatSettings | HfSettings


JudgeChoice: TypeAlias = BuiltIn | ChatSettings | HfSettings | CascadeChoice


class JudgeFileV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A settings file: one table for the kind of judge, and `[cascade]` to ask it only in doubt."""

    chat: ChatSettings | None = None
    hf: HfSettings | None = None
    cascade: CascadeSettings | None = None


def judge_file_of(text: str | None) -> str | None:
    """Return the file that `--judge` names, if any."""
    return text if text is not None and text.lower().endswith(".toml") else None


def judge_named(text: str | None) -> JudgeChoice:
    """Return the judge of `--judge`: a name, or a file that ends in .toml."""
    if text is None:
        return DEFAULT_JUDGE
    if text in frozenset(BuiltIn):
        return BuiltIn(text)
    if judge_file_of(text) is None:
        known = ", ".join(BuiltIn)
        raise AffidavitError(faults.JUDGE_UNKNOWN, name=text, known=known)
    document = read_config(text, ConfigFaults(faults.JUDGE_SYNTAX, faults.JUDGE_FIELD))
    try:
        return _choice_from(document.decode(JudgeFileV1, document.value), Path(text).parent)
    except AffidavitError as error:
        raise document.locate(error) from None


@lru_cache(maxsize=8)
def judge_for(choice: JudgeChoice, project: Project) -> Judge:
    """Return the judge; its tables or weights are read once."""
    if isinstance(choice, BuiltIn):
        return _BUILT_IN[choice]()
    if isinstance(choice, ChatSettings):
        from affidavit.judge.chat.judge import chat_judge

        return chat_judge(choice, project.folder / "judge" / "chat", os.environ)
    if isinstance(choice, CascadeChoice):
        from affidavit.judge.cascade import CascadeJudge

        settings = choice.settings
        return CascadeJudge(
            judge_for(settings.first, project),
            judge_for(choice.larger, project),
            margin=settings.margin,
            passages=settings.passages,
        )
    from affidavit.judge.huggingface import hf_judge

    return hf_judge(choice)


def rules_at_risk(rules: LedgerRules, choice: JudgeChoice, risk: float) -> LedgerRules:
    """Return the rules with the judge's own bound for a share of wrong supported verdicts."""
    if rules.judge_thresholds is not None:
        raise AffidavitError(faults.RISK_TWICE)
    judge = _BUILT_IN[choice]() if isinstance(choice, BuiltIn) else None
    if not isinstance(judge, StandardJudge):
        raise AffidavitError(faults.RISK_NOT_MEASURED, known=", ".join((STANDARD, FAST)))
    kept = [bound for bound in judge.risks if bound.at_most <= risk]
    if not kept:
        strictest = min(bound.at_most for bound in judge.risks)
        raise AffidavitError(faults.RISK_TOO_STRICT, risk=f"{risk:g}", strictest=f"{strictest:g}")
    bound = max(kept, key=lambda each: each.at_most)
    return structs.replace(
        rules, judge=structs.replace(judge.thresholds, supported_from=bound.supported_from)
    )


def is_counted(choice: JudgeChoice) -> bool:
    """Tell whether the use of a judge is estimated before a run and counted after it.

    It then runs in one process: a budget, a rate limit and the counts are not shared.
    """
    return isinstance(choice, ChatSettings | CascadeChoice)


def _choice_from(file: JudgeFileV1, folder: Path) -> JudgeChoice:
    named = _named_judge(file, folder)
    return named if file.cascade is None else CascadeChoice(file.cascade, named)


def _named_judge(file: JudgeFileV1, folder: Path) -> ChatSettings | HfSettings:
    if file.chat is not None and file.hf is None:
        return chat_settings(file.chat)
    if file.hf is not None and file.chat is None:
        settings = hf_settings(file.hf)
        foundation = settings.foundation and _model_beside(settings.foundation, folder)
        model = _model_beside(settings.model, folder)
        return msgspec.structs.replace(settings, model=model, foundation=foundation)
    raise AffidavitError(
        faults.JUDGE_FIELD, problem="the file must have the table [chat] or [hf], and only one"
    )


def _model_beside(name: str, folder: Path) -> str:
    """Return the folder of a model beside the settings file, if there is one; or else the name."""
    beside = folder / name
    return str(beside) if beside.is_dir() else name
