"""The lexical judge: what words, numbers, dates and names can tell, and how they told it."""

from affidavit.judge.lexical.features import Features, features
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.lexical.windows import Window, select_window

__all__ = ["Features", "LexicalJudge", "Window", "features", "select_window"]
