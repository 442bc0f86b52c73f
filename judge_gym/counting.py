"""Counts in messages, with a noun that agrees: "1 experiment", "2 experiments"."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which is given in the singular: `counted(2, "open batch")`."""
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
