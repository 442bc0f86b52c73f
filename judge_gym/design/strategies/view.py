"""Axis `evidence_view`: which of the four texts of a document the judge and the prober read."""

from dataclasses import dataclass

from judge_gym.design.experiment import EvidenceView, Experiment

AXES = ("evidence_view",)
VIEWS: tuple[EvidenceView, ...] = ("raw", "cleaned", "neutralized", "abstracted")


@dataclass(frozen=True)
class Viewing:
    name: EvidenceView
    to_make: tuple[EvidenceView, ...]
    """The views to make, each from the one before, for the judge or its bundles; raw always
    exists."""
    shows_title: bool
    """Whether the title is shown. It has tone and names, so only raw and cleaned views show it."""


def resolve(experiment: Experiment) -> Viewing:
    depth = VIEWS.index(experiment.evidence_view)
    deepest = max(depth, VIEWS.index(experiment.bundles.view))
    return Viewing(
        name=experiment.evidence_view,
        to_make=VIEWS[1 : deepest + 1],
        shows_title=depth <= VIEWS.index("cleaned"),
    )
