"""The findings of `judge-gym doctor`: what is wrong, or how things are, and the fix."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What a finding means, in the order of printing."""

    BROKEN = "[red]✗[/]"
    MISSING = "[yellow]![/]"
    """Needed by a file or an experiment, but not set: not a fault of the installation. Or a fault
    that others make up for, such as one of several workers that is gone."""
    FINE = "[green]✓[/]"
    UNUSED = "[dim]-[/]"
    """Not set, and not needed."""
    SETTING = "[dim]·[/]"


@dataclass(frozen=True)
class DoctorLine:
    """A line of the examination, with the fix of a problem."""

    subject: str
    detail: str
    remedy: str = ""
    state: State = State.FINE


Check = Callable[[], Iterator[DoctorLine]]
