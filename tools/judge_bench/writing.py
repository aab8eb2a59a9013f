"""The combiner as the file that people read: sorted weights, a line of explanation each table."""

from affidavit.judge.standard.combiner import CombinerTable, WeightedSum

_HEAD = """\
# What the judge makes of its layers. Written by `make fit-judge`; figures: docs/model-card.md.
#
# A probability is the logistic of a sum: intercept + weight x score. `words` is the support of a
# passage that the encoder did not read. `recall_run` and `recall_wide` are the shares of the
# claim's words in three adjacent pieces of the passage and in a window of about 185 words;
# `entails`, `entails_tight` and `contradicts` are the encoder's probabilities as logits;
# `rule_contradiction` is what the rules found against the claim.
"""


def combiner_toml(table: CombinerTable) -> str:
    """Return the file of a combiner."""
    lines = [
        _HEAD,
        f'schema = "{table.schema}"',
        "# How many passages of a claim the encoder reads, the most relevant first.",
        f"most_passages = {table.most_passages}",
        "# From these shares of its words and neighbouring words on, a claim repeats a sentence.",
        f"near_recall = {table.near_recall}",
        f"near_bigrams = {table.near_bigrams}",
        "",
        "# Supported, weak and contradicted from these calibrated probabilities on.",
        "[thresholds]",
        f"supported_from = {table.thresholds.supported_from}",
        f"weak_from = {table.thresholds.weak_from}",
        f"contradicted_from = {table.thresholds.contradicted_from}",
        "# The share of supported claims in the answers that the probabilities are stated for.",
        f"prior = {table.thresholds.prior}",
        "",
        "# Of labelled rows with this support or more, at most this share was not true (--risk).",
        *(
            line
            for bound in table.risks
            for line in (
                "[[risks]]",
                f"at_most = {bound.at_most}",
                f"supported_from = {bound.supported_from}",
                "",
            )
        ),
        "# Rows per set.",
        "[fitted_on]",
        *(f"{name} = {count}" for name, count in sorted(table.fitted_on.items())),
        "",
        "# A rule that speaks bounds the support: where `score` is at least `least`, it is at most",
        "# `support`; with `near` only for a claim that nearly repeats a sentence, and with",
        "# `unless_read` only if the encoder does not read all windows as saying so this surely.",
    ]
    for limit in table.limits:
        lines += [
            "[[limits]]",
            f'score = "{limit.score}"',
            f"least = {limit.least}",
            f"support = {limit.support}",
            *(["near = true"] if limit.near else []),
            *([f"unless_read = {limit.unless_read}"] if limit.unless_read < 1 else []),
            "",
        ]
    for name in ("words", "support", "contradiction"):
        lines += _sum(name, getattr(table, name))
    return "\n".join(lines).rstrip("\n") + "\n"


def _sum(name: str, table: WeightedSum) -> list[str]:
    weights = (f"{each} = {value}" for each, value in sorted(table.weights.items()))
    return [f"[{name}]", f"intercept = {table.intercept}", f"[{name}.weights]", *weights, ""]
