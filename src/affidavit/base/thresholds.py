"""What it is to reach a threshold, and how one is written."""


def holds(value: float, operator: str, threshold: float) -> bool:
    """Tell whether `value` is `>=`, `>`, `<=` or `<` a threshold; both are unrounded."""
    if value == threshold:
        return operator.endswith("=")
    return (value > threshold) is operator.startswith(">")


def in_words(number: float) -> str:
    """Return a number as short as it can be read back."""
    return str(int(number)) if number == int(number) else repr(number)
