"""What a judge has to reach to pass its gate: a part of its file, and none of its identity."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from judge_gym.design.fields import Frozen
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.evidence.choosing import FieldColumns
from judge_gym.records.items import Fields

THRESHOLDS = ("readable", "agreement", "accuracy", "sensitivity", "specificity")
"""What `fail_under` may name."""
LEAST_AGAIN = 20
"""How many texts are judged again at least, where the gate does not say how many."""


def check_thresholds(names: Iterable[str]) -> None:
    """Raise `ConfigError` for a name that is no threshold."""
    for name in names:
        if name not in THRESHOLDS:
            raise ConfigError(
                f"fail_under names {name!r}.",
                f"{did_you_mean(name, THRESHOLDS)}Use {', '.join(THRESHOLDS)}.",
            )


class GateRule(Frozen):
    """Labelled texts, and the least that the 95% interval of a figure may reach down to."""

    items: Path
    """The labelled texts (JSONL or CSV), relative to this file."""
    fields: Fields = Field(default_factory=dict)
    """Field of an item → the column of the file it stands in, such as {truth: human_score}."""
    labels: Path | None = None
    """People's labels of the texts (CSV or JSONL), relative to this file: a row for an item, an
    annotator and a criterion. Figures then use the mean or the majority of several people."""
    label_fields: FieldColumns = Field(default_factory=dict)
    """Field of a label → the column of `labels` it stands in, such as {annotator: rater}."""
    repeats: int = Field(default=1, ge=1, le=50)
    """How often each text is judged."""
    readable: float = Field(default=0.8, gt=0, lt=1)
    """Least share of answers that can be read: passes where the share itself reaches it, fails
    where its interval lies below, as in `judge calibrate`."""
    agreement: float | None = Field(default=0.4, ge=0, lt=1)
    """Least agreement with people's labels beyond chance: κ of verdicts, concordance of scores;
    null to leave it out."""
    accuracy: float | None = Field(default=None, gt=0, lt=1)
    """Least share of texts judged as labelled, scores within 10 points of 100; left out when it is
    not given."""
    sensitivity: float | None = Field(default=None, gt=0, lt=1)
    """Least share of passes among what people passed, of a judge of two verdicts; pass is the
    better one, whose score is 1. Left out when it is not given."""
    specificity: float | None = Field(default=None, gt=0, lt=1)
    """Least share of fails among what people failed. Set it above `sensitivity` where a false pass
    costs more than a false fail."""
    certificate: Path | None = None
    """The judge's certificate (`judge certify`), relative to this file: without one that holds, for
    this judge, its served model and the slices of these texts, the gate refuses the judge."""
    signed_by: Path | None = None
    """The public Ed25519 key (PEM), relative to this file, that the certificate has to be signed
    with: anyone can write one and its digest, but not its signature."""
    sentinel: int | None = Field(default=None, ge=6, le=500)
    """How many of the texts are judged again when another served model or configuration answers,
    and by `--recheck`. All figures are then of these. Left out: every text with a label where the
    gate asks for agreement or accuracy, and as many as show that nothing changed: 72 of scores at
    `drift: 5`, 20 of verdicts."""
    drift: float = Field(default=5.0, gt=0, le=100)
    """Points of 100 by which the mean score of these may move. Where no score moves, 5 takes 72
    texts, 10 takes 36, and 20 texts show less than 16.9."""
    changed: float = Field(default=0.2, gt=0, lt=1)
    """Share of these whose verdict, or whose score by more than 10 points, may change."""

    def unchanged_texts(self, *, verdicts: bool) -> dict[str, int]:
        """Margin → how many texts, judged again as before, show that nothing changed by it.

        As `items_if_unchanged` says. Of `verdicts` only `changed` is checked.
        """
        # Reading a judge file needs no numpy.
        from judge_gym.calibration.checks import items_if_unchanged
        from judge_gym.metrics.margins import Direction, MarginClaim

        changed = {"changed": items_if_unchanged(MarginClaim(Direction.BELOW, self.changed))}
        if verdicts:
            return changed
        within = MarginClaim(Direction.WITHIN, self.drift)
        return {"drift": items_if_unchanged(within), **changed}

    @property
    def by_labels(self) -> dict[str, float]:
        """Name → threshold of the figures that labels decide."""
        asked = {"agreement": self.agreement, "accuracy": self.accuracy, **self.rates}
        return {name: least for name, least in asked.items() if least is not None}

    @property
    def rates(self) -> dict[str, float | None]:
        """Name → threshold of what only a judge of two verdicts has."""
        return {"sensitivity": self.sensitivity, "specificity": self.specificity}
