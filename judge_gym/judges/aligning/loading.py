"""An alignment with what its file names, and its texts by part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from judge_gym.asking.budgeting import Spender
from judge_gym.calibration.alignment_file import AlignmentFile, load_alignment
from judge_gym.calibration.verdict import LEAST_LABELS
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError
from judge_gym.evidence.choosing import NamedBy
from judge_gym.judges.aligning.candidates import AlignmentCandidate, Trained, with_examples
from judge_gym.judges.aligning.proposing import Proposals
from judge_gym.judges.aligning.splitting import LabelUse, Parts, example_texts, split_texts
from judge_gym.judges.binary_judge import BinaryJudge
from judge_gym.judges.files import load_judge
from judge_gym.judges.item_files import ItemFile, read_item_file
from judge_gym.judges.label_files import read_labels
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.rubric_judge import RubricJudge


@dataclass(frozen=True, eq=False)
class LoadedAlignment:
    """An alignment file with what it names."""

    file: Path
    design: AlignmentFile
    judge: ModelJudge
    items: ItemFile
    parts: Parts

    @property
    def simulated(self) -> bool:
        """Whether the simulator plays the judge, or made a text."""
        return self.judge.is_simulated or any(item.simulated for item in self.items.texts)

    def spender(self, keys: Sequence[str]) -> Spender:
        """Return the alignment as who pays for proposals and candidates with these keys."""
        proposer = self.design.proposer
        return Spender(
            f"Alignment {self.design.name!r}",
            frozenset({self.judge.model, *([proposer.model] if proposer else [])}),
            self.design.budget or Budget(),
            keys=tuple(keys),
            file=self.file,
        )


def load(file: Path) -> LoadedAlignment:
    """Read an alignment file, its judge, texts and labels, and split the texts.

    Raises `ConfigError` for a judge of pairs or of your own, for one that was aligned with another
    split, and as `load_judge`, `read_item_file` and `ItemFile.with_labels` do.
    """
    design = load_alignment(file)
    judge = load_judge(design.judge)
    if not isinstance(judge, RubricJudge | BinaryJudge):
        raise ConfigError(
            f"{design.judge} is a judge of kind {judge.kind}, which cannot be aligned.",
            "Align a judge of kind rubric or binary.",
        )
    made, split = judge.provenance, design.split
    if made is not None and (made.seed, made.development_share, made.test_share) != (
        split.seed,
        split.development,
        split.test,
    ):
        raise ConfigError(
            f"{file}: split is another than that of {design.judge}, so that the test may have "
            "texts that this judge was made from.",
            f"Use split: {{seed: {made.seed}, development: {made.development_share:g}, "
            f"test: {made.test_share:g}}}.",
        )
    labels = (
        read_labels(design.labels, design.label_fields, in_file=True) if design.labels else None
    )
    scale = design.label_scale
    named_by = NamedBy("the alignment file")
    items = read_item_file(design.items, design.fields, named_by=named_by)
    items = items.with_labels(labels, [judge], scale)
    items.check([judge], scale)
    items = on_scale_of(judge, items, scale)
    return LoadedAlignment(
        file, design, judge, items, split_texts(items.texts, split, example_texts(judge))
    )


def on_scale_of(judge: ModelJudge, items: ItemFile, scale: tuple[float, float] | None) -> ItemFile:
    """Return the items with labels on the judge's scale, mapped linearly from `scale`."""
    if scale is None:
        return items
    (low, high), (lowest, highest) = scale, judge.score_range
    mapped = tuple(
        item.model_copy(
            update={"truth": lowest + (highest - lowest) * (item.truth - low) / (high - low)}
        )
        if isinstance(item.truth, float | int)
        else item
        for item in items.items
    )
    return replace(items, items=mapped)


def too_few(loaded: LoadedAlignment) -> list[LabelUse]:
    """Return the parts with fewer labelled texts than they need: one for training, else ten."""
    least = {LabelUse.TRAINING: 1, LabelUse.DEVELOPMENT: LEAST_LABELS, LabelUse.TEST: LEAST_LABELS}
    return [part for part, number in least.items() if loaded.parts.count(part) < number]


def examples_of(loaded: LoadedAlignment, texts: Sequence[Trained]) -> list[AlignmentCandidate]:
    """Return the judge with examples; nothing where the file wants none."""
    number = loaded.design.candidates.examples
    return [with_examples(loaded.judge, texts, number)] if number else []


def proposals_of(loaded: LoadedAlignment, texts: Sequence[Trained]) -> Proposals | None:
    """Return the requests for rubrics; None where there are none, as without a mistake."""
    design = loaded.design
    if design.proposer is None or not design.candidates.rubrics:
        return None
    proposals = Proposals.of(loaded.judge, design.proposer, texts, design.candidates.rubrics)
    return proposals if proposals.number else None
