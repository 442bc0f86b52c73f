"""What judges and probers see of a sample: its documents, and its stages as presented."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from judge_gym.design.actors import Actors
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.display import Display
from judge_gym.design.strategies.labels import LabelDisplay
from judge_gym.design.strategies.view import Viewing
from judge_gym.prompts import nonce
from judge_gym.seeds import derive_seed


@dataclass(frozen=True)
class ShownDocument:
    """A document in the view that the experiment asks for."""

    title: str
    text: str
    simulated: bool = False
    """Whether the simulator served or edited it; never shown."""


def shown_to(
    experiment: Experiment, documents: Sequence[ShownDocument]
) -> tuple[ShownDocument, ...]:
    """Return the documents as the experiment shows them, with its actors in text and title."""
    actors = resolve(experiment).of(Actors)
    return tuple(
        replace(one, title=actors.shown(one.title)[0], text=actors.shown(one.text)[0])
        for one in documents
    )


def swapped_names(experiment: Experiment, documents: Sequence[ShownDocument]) -> int:
    """Return how many names the experiment exchanges in what it shows of these documents."""
    strategies = resolve(experiment)
    actors, titled = strategies.of(Actors), strategies.of(Viewing).shows_title
    shown = (part for one in documents for part in (one.text, one.title if titled else ""))
    return sum(actors.shown(part)[1] for part in shown)


def fence_mark(call_key: str, documents: Sequence[ShownDocument]) -> str:
    """Return the mark of the fence around these documents; it is in none of them."""
    return nonce(call_key, *(part for one in documents for part in (one.title, one.text)))


@dataclass(frozen=True)
class ShownStage:
    letter: str
    label: str
    criteria: tuple[str, ...]


@dataclass(frozen=True)
class Presentation:
    """How one sample shows the rubric; drawn from the sample's natural key and stored with it."""

    seed: int
    letters: tuple[str, ...]
    """The letter of stage 1, 2, …"""
    order: tuple[int, ...]
    """The stages (1-based) as listed."""

    def listed(self, rubric: Rubric) -> list[ShownStage]:
        """Return the stages as listed, under their letters."""
        return [self.stage(rubric, number) for number in self.order]

    def stage(self, rubric: Rubric, number: int) -> ShownStage:
        """Return stage `number` (1-based) under its letter."""
        stage = rubric.stages[number - 1]
        return ShownStage(self.letters[number - 1], stage.label, stage.criteria)

    def stage_set(self, letters: tuple[str, ...]) -> int:
        """Return the bit set of the stages that carry `letters`, bit s-1 for stage s."""
        return sum(1 << self.letters.index(letter) for letter in letters)


def present(experiment: Experiment, *sample_key: object) -> Presentation:
    """Draw the presentation of the sample with this natural key."""
    strategies = resolve(experiment)
    seed = derive_seed("presentation", *sample_key)
    return Presentation(
        seed=seed,
        letters=strategies.of(LabelDisplay).assign(seed),
        order=strategies.of(Display).order(seed, turned=_is_turned(sample_key)),
    )


def _is_turned(sample_key: Sequence[object]) -> bool:
    """Return whether a pair is turned round: in the even replicates of an item or the odd ones."""
    *item, replicate = sample_key
    parity = replicate if isinstance(replicate, int) else 0
    return (derive_seed("turned", *item) + parity) % 2 == 1


def stages_of(stage_set: int) -> tuple[int, ...]:
    """Return the stages (1-based, ascending) of a bit set."""
    return tuple(bit + 1 for bit in range(stage_set.bit_length()) if stage_set >> bit & 1)
