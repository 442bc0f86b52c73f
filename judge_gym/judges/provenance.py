"""Where an aligned judge comes from: a part of its file, and none of its identity."""

from pydantic import Field

from judge_gym.design.fields import Frozen


class AlignedFigure(Frozen):
    """Agreement with people's labels beyond chance, on one part of the texts."""

    texts: int = Field(ge=0)
    """Texts with a label and a score of both judges."""
    before: float | None
    """Agreement of the judge before."""
    after: float | None
    """Agreement of this judge."""
    gain: float | None
    """After less before."""
    lower: float | None
    """Lower end of the gain's 95% interval; null without one."""
    upper: float | None
    """Upper end of it."""


class Provenance(Frozen):
    """How `judge-gym judge align` made this judge."""

    alignment: str
    """Name of the alignment."""
    candidate: str
    """What was changed: examples, a rubric, or both."""
    survives: bool
    """Whether the gain survived a test set that was looked at once."""
    looks: int = Field(ge=1)
    """How often texts of the test set have been looked at, this time included."""
    looked_at: str
    """When the test set was opened (UTC)."""
    before: str
    """Key of the judge before."""
    judge_gym: str
    """Version of judge-gym."""
    seed: int
    """Seed of the split."""
    development_share: float
    """Share of the texts for development."""
    test_share: float
    """Share of the texts for the test."""
    labels: dict[str, int]
    """Part → number of labelled texts."""
    items_digest: str
    """SHA-256 of the file of texts."""
    labels_digest: str
    """SHA-256 of the file of labels; empty without one."""
    test_digest: str
    """Digest of keys and labels of the texts of the test."""
    chosen_on: str = ""
    """The first eight digits of the identity of each text of training and development, separated by
    spaces: a gate says which of its texts are among them."""
    development: AlignedFigure
    """The figure on development, where this candidate was chosen: too high on average."""
    test: AlignedFigure
    """The figure on the test set."""
    proposer: str
    """The model that proposed rubrics; empty without one."""
    cost_usd: float | None
    """What the alignment cost in US dollars; null if the price of a model is unknown."""
    simulated: bool
    """Whether the simulator answered: no evidence about real models."""
