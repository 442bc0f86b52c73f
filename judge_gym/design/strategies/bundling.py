"""Axis `bundle_size`: how the documents of a window are grouped into items."""

from collections.abc import Sequence
from dataclasses import dataclass

from judge_gym.design.experiment import Experiment
from judge_gym.seeds import generator

AXES = ("bundle_size",)


@dataclass(frozen=True)
class Bundling:
    size: int
    window_key: str

    def group(self, documents: Sequence[str]) -> list[tuple[str, ...]]:
        """Group document keys into items, in a stable order.

        The draw depends only on the window and the size, so every judge gets the same items.
        Documents that do not fill the last bundle are left out, since all items have one size.
        """
        if self.size == 1:
            return [(document,) for document in documents]
        drawn = sorted(documents)
        generator("bundles", self.window_key, self.size).shuffle(drawn)
        full = len(drawn) // self.size * self.size
        return [tuple(drawn[start : start + self.size]) for start in range(0, full, self.size)]


def resolve(experiment: Experiment) -> Bundling:
    return Bundling(experiment.bundle_size, experiment.window.key)
