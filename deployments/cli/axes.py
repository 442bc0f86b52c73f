"""`judge-gym axes`: the design space."""

from deployments.cli.output import show_table


def axes() -> None:
    """Print every axis of the design space: its legal values, its default and why it exists."""
    from judge_gym.design.axes import axes as all_axes

    rows = [(axis.name, axis.legal, axis.default, axis.why) for axis in all_axes()]
    show_table("The design space", ("axis", "legal values", "default", "why"), rows)
