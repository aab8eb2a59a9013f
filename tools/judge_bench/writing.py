"""The combiner as the file that people read: sorted weights, a line of explanation each table."""

from affidavit.judge.layered.combiner import CombinerV1, LayersV1, SumV1

_HEAD = """\
# What the judge makes of its layers. Written by `make fit-judge`; figures: docs/model-card.md.
#
# A support or contradiction is the logistic of a sum: intercept + weight x score. `words` is the
# sum where only words and rules were read, `read` the one where the encoder was asked too.
# Scores are described in src/affidavit/judge/lexical/features.py; `words` is the share
# of the claim that is settled, `rule_contradiction` what the rules found against it; `entails` and
# `contradicts` are the encoder's probabilities as logits.
"""


def combiner_toml(table: CombinerV1) -> str:
    """Return the file of a combiner."""
    lines = [_HEAD, f'schema = "{table.schema}"', "", "# Rows per set.", "[fitted_on]"]
    lines += [f"{name} = {count}" for name, count in sorted(table.fitted_on.items())]
    cascade = table.cascade
    lines += [
        "",
        "# The encoder is asked where the support by words lies between these two,",
        "# or where a sentence has at least the share `near` of the claim without repeating it;",
        "# for so many passages of a claim.",
        "[cascade]",
        f"unsure_from = {cascade.unsure_from}",
        f"unsure_to = {cascade.unsure_to}",
        f"near = {cascade.near}",
        f"most_passages = {cascade.most_passages}",
        "",
        "# A rule that speaks bounds the support: where `score` is at least `least`, and the",
        "# deciding sentence has at least the share `near` of the claim, the support is at most",
        "# `support`; unless the encoder says from `unless` on that the passage says so.",
    ]
    for limit in table.limits:
        lines += [
            "[[limits]]",
            f'score = "{limit.score}"',
            f"least = {limit.least}",
            f"support = {limit.support}",
            f"near = {limit.near}",
            *([] if limit.unless is None else [f"unless = {limit.unless}"]),
            "",
        ]
    for name, layers in (("support", table.support), ("contradiction", table.contradiction)):
        lines += _layers(name, layers)
    return "\n".join(lines).rstrip("\n") + "\n"


def _layers(name: str, layers: LayersV1) -> list[str]:
    return [*_sum(f"{name}.words", layers.words), *_sum(f"{name}.read", layers.read)]


def _sum(name: str, table: SumV1) -> list[str]:
    weights = (f"{each} = {value}" for each, value in sorted(table.weights.items()))
    return [f"[{name}]", f"intercept = {table.intercept}", f"[{name}.weights]", *weights, ""]
