"""Axes `bundle_size` and `bundles`: how the documents of a window are grouped into items."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from judge_gym.design.bundles import Bundles
from judge_gym.design.experiment import Experiment
from judge_gym.seeds import generator

if TYPE_CHECKING:
    from judge_gym.design.grouping import Similarity

AXES = ("bundle_size", "bundles")
DRAWN = Bundles()


@dataclass(frozen=True)
class Bundling:
    size: int
    window_key: str
    plan: Bundles = DRAWN

    def group(
        self,
        documents: Sequence[str],
        similarity: "Callable[[], Similarity] | None" = None,
        dates: Callable[[], Sequence[date | None]] = list,
    ) -> list[tuple[str, ...]]:
        """Group document keys into items, in a stable order.

        The draw depends only on the window and the plan, so every judge gets the same items. With
        `bundle_size`, documents that do not fill the last bundle are left out.
        """
        if self.plan.size > 1:
            from judge_gym.design.grouping import grouped, unknown

            return grouped(self.plan, documents, self.window_key, similarity or unknown, dates)
        if self.size == 1:
            return [(document,) for document in documents]
        drawn = sorted(documents)
        generator("bundles", self.window_key, self.size).shuffle(drawn)
        full = len(drawn) // self.size * self.size
        return [tuple(drawn[start : start + self.size]) for start in range(0, full, self.size)]


def resolve(experiment: Experiment) -> Bundling:
    size = experiment.documents_together
    return Bundling(size, experiment.window.key, experiment.bundles)
