"""AF251 to AF269: judges that are plugged in: their settings, the server, the money, the model."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

JUDGE_UNKNOWN = Fault(
    "AF251",
    "judge.unknown",
    "no judge is named {name!r}",
    "use one of: {known}; or name a TOML file with the table [chat] or [hf]",
)
JUDGE_SYNTAX = Fault(
    "AF252",
    "judge.syntax",
    "the judge's settings are not TOML in UTF-8 ({problem})",
    "start from the examples in docs/judges.md",
)
JUDGE_FIELD = Fault(
    "AF253",
    "judge.field",
    "{problem}",
    "docs/judges.md lists every setting with its range and default",
)
KEY_MISSING = Fault(
    "AF254",
    "judge.key_missing",
    "the environment variable {variable} holds no key that can be sent",
    "set it to the key of this server, in printable ASCII without spaces",
)
ENDPOINT_REFUSED = Fault(
    "AF255",
    "judge.endpoint_refused",
    "the server at {endpoint} refused the request: {problem}",
    "check base_url, the model's name and the key",
)
ENDPOINT_MOVED = Fault(
    "AF256",
    "judge.endpoint_moved",
    "the server at {endpoint} points to {target}, which was not followed",
    "name the new address as base_url if you trust it",
)
ENDPOINT_FAILED = Fault(
    "AF257",
    "judge.endpoint_failed",
    "the server at {endpoint} gave no usable answer in {attempts} attempts: {problem}",
    "try again later: the replies so far are kept and will not be asked for again",
    Exit.UNKNOWN,
)
BUDGET_SPENT = Fault(
    "AF258",
    "judge.budget_spent",
    "the next request could cost {next}, and {spent} of the budget of {budget} is spent",
    "raise the budget and run the same command again: the replies so far are kept",
    Exit.UNKNOWN,
)
BUDGET_TOO_SMALL = Fault(
    "AF259",
    "judge.budget_too_small",
    "the run would cost about {estimate}, more than the budget of {budget}; nothing was sent",
    "raise the budget, check fewer passages (--top-k), or start anyway with --yes",
    Exit.UNKNOWN,
)
REPLIES_UNREADABLE = Fault(
    "AF260",
    "judge.replies_unreadable",
    "not one of the {count} replies on a claim could be read ({problem})",
    "use a stronger model, or delete {cache} to ask again",
    Exit.UNKNOWN,
)
MODEL_MISSING = Fault(
    "AF261",
    "judge.model_missing",
    "there is no model at {model!r} that can be loaded ({problem})",
    "name a folder with config.json and *.safetensors, or a hub name with allow_download = true",
)
MODEL_LABELS = Fault(
    "AF262",
    "judge.model_labels",
    "it is not clear what the labels of the model mean ({problem}); it has {labels}",
    "say it in labels: each is supports, partly, neither or contradicts",
)
MODEL_FAILED = Fault(
    "AF263",
    "judge.model_failed",
    "the model could not read a pair of claim and evidence ({problem})",
    "check that it classifies pairs of sequences",
    Exit.UNKNOWN,
)
