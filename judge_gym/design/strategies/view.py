"""Axis `evidence_view`: which of a document's four texts the judge and the prober read."""

from dataclasses import dataclass

from judge_gym.design.experiment import EvidenceView, Experiment

VIEWS: tuple[EvidenceView, ...] = ("raw", "cleaned", "neutralized", "abstracted")


@dataclass(frozen=True)
class View:
    name: EvidenceView
    to_make: tuple[EvidenceView, ...]
    """The views that must exist, in the order they are made from one another; raw always does."""
    shows_title: bool
    """A headline carries tone and names, so it is shown only where those are wanted."""


def resolve(experiment: Experiment) -> View:
    depth = VIEWS.index(experiment.evidence_view)
    return View(
        name=experiment.evidence_view,
        to_make=VIEWS[1 : depth + 1],
        shows_title=depth <= VIEWS.index("cleaned"),
    )
