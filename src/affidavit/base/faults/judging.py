"""AF285 to AF299: rows of claims and evidence: scoring, measuring and calibrating a judge."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

ROW_MALFORMED = Fault(
    "AF285",
    "judge_row.malformed",
    "this row is not {{id, claim, evidence}}: {problem}",
    "mend the row; evidence is a text or a list of texts",
)
CLAIM_EMPTY = Fault(
    "AF286",
    "judge_row.claim_empty",
    "the claim is empty, so there is nothing to judge",
    "fill it, or remove the row",
)
LABEL_UNKNOWN = Fault(
    "AF287",
    "judge_row.label",
    "{problem}",
    "use one of: {known}",
)
ROWS_NONE = Fault(
    "AF288",
    "judge_row.none",
    "there are no rows, so there is nothing to judge",
    "write one JSON object per line: id, claim and evidence",
    Exit.UNKNOWN,
)
GZIP_DAMAGED = Fault(
    "AF289",
    "judge_row.gzip",
    "the compressed data is damaged ({reason})",
    "compress the file again",
)
LABELS_TOO_FEW = Fault(
    "AF290",
    "calibrate.too_few",
    "{found}; thresholds fitted to so few labels would be chance",
    "label {more}",
    Exit.UNKNOWN,
)
NOT_BETTER = Fault(
    "AF291",
    "calibrate.not_better",
    "the fitted thresholds are no better than the judge's own on rows they were not fitted to"
    " (balanced accuracy {after} against {before}), so no rules were written",
    "keep the judge's own, add labels, or write them anyway with --force",
    Exit.UNKNOWN,
)
ROWS_UNMEASURED = Fault(
    "AF292",
    "judge_eval.nothing",
    "no row could be measured, so nothing is known about the judge",
    "give rows of claim, evidence and label; what is wrong with a row is listed with -v",
    Exit.UNKNOWN,
)
