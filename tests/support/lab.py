"""A small sweep written straight into the database, verdict by verdict, for tests of the analysis.

Experiments, items and arms go through the store's own functions; samples and probes are given.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import running as analysis
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import MIDPOINT_LABEL, Rubric
from judge_gym.design.window import CorpusSource, Window
from judge_gym.store import tables as t
from judge_gym.store.experiments import register_experiment
from judge_gym.store.items import freeze_items
from judge_gym.store.results import ResultRow, load_results
from judge_gym.store.rubrics import (
    SHAM,
    add_arm,
    generated_key,
    provided_key,
    rubric_by_key,
    save_provided,
)

Outcome = int | tuple[int, ...] | str
"""A stage, the stages of a set, or the status of a sample that names none."""
Truth = float | str | None

SWEEP = "trial"
_VARIANTS = {"sham": SHAM}


def stages(labels: Sequence[str]) -> list[dict[str, Any]]:
    """The stages of a rubric with these labels."""
    return [{"label": label, "criteria": ["first", "second", "third"]} for label in labels]


def labels(scale_size: int) -> list[str]:
    """Labels that fit a scale: an odd one has the midpoint in its middle."""
    names = [f"Stage {number}" for number in range(1, scale_size + 1)]
    if scale_size % 2:
        names[scale_size // 2] = MIDPOINT_LABEL
    return names


def rubric(*names: str) -> Rubric:
    """A rubric with these stage labels, to be provided."""
    return Rubric.model_validate({"stages": stages(names)})


class Lab:
    """One sweep, one window, and judges whose samples a test writes down."""

    def __init__(self, url: str) -> None:
        self.engine = sa.create_engine(url, poolclass=sa.NullPool)
        self.window = Window(
            name="spring", query="q", country="Freedonia", source=CorpusSource(path=Path("c.jsonl"))
        )
        with Session(self.engine) as session, session.begin():
            session.add(t.Sweep(name=SWEEP, description="", swap=None))

    def documents(self, truths: Sequence[Truth], keys: Sequence[str] = ()) -> None:
        """Collect the window: a document per truth, None where none is known."""
        window = t.Window(
            key=self.window.key,
            name=self.window.name,
            query=self.window.query,
            country=self.window.country,
            max_documents=len(truths),
            source={},
            collected_at=datetime(2020, 1, 1, tzinfo=UTC),
        )
        with Session(self.engine) as session, session.begin():
            session.add(window)
            session.flush()
            session.add_all(
                t.Document(
                    window_id=window.id,
                    position=position,
                    key=keys[position] if keys else f"d{position}",
                    url=f"file:{position}",
                    canonical_url=f"file:{position}",
                    domain="",
                    tier="other",
                    tier_weight=0.1,
                    title=f"Document {position}",
                    text="text",
                    truth_value=truth if isinstance(truth, float) else None,
                    truth_label=truth if isinstance(truth, str) else None,
                )
                for position, truth in enumerate(truths)
            )

    def judge(self, model: str, **fields: Any) -> int:
        """Add an experiment to the sweep, with its items frozen; returns its id."""
        given = {"concept": "order", "window": self.window, "model": model, **fields}
        experiment = Experiment(**given)
        with Session(self.engine) as session, session.begin():
            experiment_id = register_experiment(session, experiment)
            freeze_items(session, experiment_id, experiment)
            sweep = session.scalars(sa.select(t.Sweep)).one()
            session.add(
                t.SweepExperiment(
                    sweep_id=sweep.id, experiment_id=experiment_id, replicates=experiment.replicates
                )
            )
        return experiment_id

    def arm(
        self, experiment_id: int, kind: str = "own", owner: str = "", *, simulated: bool = False
    ) -> int:
        """Plan an arm under the rubric of `owner`, which is written when it is new; its id.

        The own arm takes what the experiment says, a sham the second rubric of the judge.
        """
        with Session(self.engine) as session, session.begin():
            experiment = Experiment.model_validate(
                session.get_one(t.Experiment, experiment_id).config
            )
            if experiment.rubric.rubric:
                given = experiment.rubric.rubric
                save_provided(session, given, experiment.concept, experiment.country)
                key = provided_key(given, experiment.concept, experiment.country)
            else:
                key = self._generated(session, experiment, owner, _VARIANTS.get(kind, 0), simulated)
            row = rubric_by_key(session, key)
            assert row is not None
            add_arm(session, experiment_id, kind, row)
            return session.scalars(
                sa.select(t.Arm.id).where(
                    t.Arm.experiment_id == experiment_id,
                    t.Arm.arm == kind,
                    t.Arm.rubric_id == row.id,
                )
            ).one()

    def samples(
        self,
        arm_id: int,
        outcomes: Sequence[Sequence[Outcome]],
        *,
        probes: Sequence[Sequence[float]] = (),
        shown: Sequence[tuple[str, Sequence[int]]] = (),
        chances: Sequence[Sequence[float | None]] = (),
        simulated: bool = False,
    ) -> None:
        """Write the samples of an arm, item by item, replicate by replicate.

        `probes` holds, per item, the probabilities given for its first sample (one or two).
        `shown` holds, per replicate, the letters and the display order; else both are fixed.
        `chances` holds, per item and replicate, the probability of the verdict's letter.
        `simulated` marks them and their probes.
        """
        with Session(self.engine) as session, session.begin():
            arm = session.get_one(t.Arm, arm_id)
            most = max(map(len, outcomes))
            session.execute(
                sa.update(t.SweepExperiment)
                .where(
                    t.SweepExperiment.experiment_id == arm.experiment_id,
                    t.SweepExperiment.replicates < most,
                )
                .values(replicates=most)
            )
            for position, replicates in enumerate(outcomes):
                for number, outcome in enumerate(replicates):
                    sample = _sample(arm, outcome, number, shown)
                    sample.item_id = _item_at(session, arm.experiment_id, position)
                    sample.simulated = simulated
                    if chances and (chance := chances[position][number]) is not None:
                        sample.letter_probability = chance
                        sample.letter_probabilities = {"A": chance}
                    session.add(sample)
                    session.flush()
                    given = probes[position] if probes and number == 0 else ()
                    session.add_all(
                        t.Probe(
                            sample_id=sample.id,
                            replicate=probe,
                            status="answered",
                            probability=probability,
                            simulated=simulated,
                        )
                        for probe, probability in enumerate(given)
                    )

    def own(self, model: str, outcomes: Sequence[Sequence[Outcome]], **given: Any) -> int:
        """Add a judge with the samples of its own arm; returns the experiment's id.

        `probes`, `shown`, `chances` and `simulated` are those of `samples`, the rest fields of the
        experiment.
        """
        names = ("probes", "shown", "chances", "simulated")
        about = {key: given.pop(key) for key in names if key in given}
        experiment_id = self.judge(model, **given)
        self.samples(self.arm(experiment_id, owner=model), outcomes, **about)
        return experiment_id

    def not_applied(self, model: str, name: str, **fields: Any) -> None:
        """Write a call for each experiment of a model with these fields that lost a parameter."""
        with Session(self.engine) as session, session.begin():
            for row in session.scalars(sa.select(t.Experiment).where(t.Experiment.model == model)):
                if all(row.config[field] == value for field, value in fields.items()):
                    call = _call(f"lost/{row.id}", model)
                    call.experiment_id, call.not_applied = row.id, [name]
                    session.add(call)

    def served(
        self, model: str, answered_by: Callable[[int, int], str], fingerprint: str | None = None
    ) -> None:
        """Write the call of each sample of a model; `answered_by` names who answered it.

        It is given the position of the item and the replicate.
        """
        with Session(self.engine) as session, session.begin():
            rows = session.execute(
                sa.select(t.Sample, t.ExperimentItem.position)
                .join(t.Arm, t.Arm.id == t.Sample.arm_id)
                .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
                .join(
                    t.ExperimentItem,
                    sa.and_(
                        t.ExperimentItem.item_id == t.Sample.item_id,
                        t.ExperimentItem.experiment_id == t.Experiment.id,
                    ),
                )
                .where(t.Experiment.model == model)
            )
            for sample, position in rows.all():
                call = _call(f"score/{sample.id}", model)
                call.status, call.answer = "succeeded", "text"
                call.served_model = answered_by(position, sample.replicate)
                call.fingerprint = fingerprint and f"{fingerprint}{sample.replicate}"
                session.add(call)
                session.flush()
                sample.call_id = call.id

    def view_by_model(self, view: str, *, simulated: bool) -> None:
        """Write a view of every document, as a model would make it."""
        with Session(self.engine) as session, session.begin():
            for document_id in session.scalars(sa.select(t.Document.id)):
                session.add(
                    t.View(
                        document_id=document_id,
                        view=view,
                        status="ready",
                        text="text",
                        method="llm",
                        simulated=simulated,
                    )
                )

    def analyse(self) -> list[ResultRow]:
        """Analyse the sweep and return the rows that were stored."""
        run = analysis.analyse(self.engine, SWEEP)
        with Session(self.engine) as session:
            return load_results(session, run)

    def _generated(
        self, session: Session, experiment: Experiment, owner: str, variant: int, simulated: bool
    ) -> str:
        size = experiment.scale_size
        key = generated_key(owner, experiment.concept, experiment.country, size, variant)
        if session.scalar(sa.select(t.Rubric.id).where(t.Rubric.key == key)) is None:
            session.add(
                t.Rubric(
                    key=key,
                    source="generated",
                    owner_model=owner,
                    owner_family="",
                    concept=experiment.concept,
                    country=experiment.country,
                    scale_size=size,
                    variant=variant,
                    status="ready",
                    stages=stages(labels(size)),
                    simulated=simulated,
                )
            )
            session.flush()
        return key


def _call(key: str, model: str) -> t.Call:
    return t.Call(
        key=key,
        workflow="w3-scoring",
        agent="scorer",
        model=model,
        provider=model.partition("/")[0],
        messages=[],
        parameters={},
        template="score",
        template_hash="0" * 16,
        status="failed",
    )


def _item_at(session: Session, experiment_id: int, position: int) -> int:
    return session.scalars(
        sa.select(t.ExperimentItem.item_id).where(
            t.ExperimentItem.experiment_id == experiment_id,
            t.ExperimentItem.position == position,
        )
    ).one()


def _sample(
    arm: t.Arm, outcome: Outcome, replicate: int, shown: Sequence[tuple[str, Sequence[int]]]
) -> t.Sample:
    letters = "ABCDEFGHIJ"[: arm.scale_size]
    order: Sequence[int] = range(1, arm.scale_size + 1)
    if shown:
        letters, order = shown[replicate]
    chosen = (outcome,) if isinstance(outcome, int) else outcome
    status = outcome if isinstance(outcome, str) else "scored"
    judged = status in ("scored", "abstained")
    return t.Sample(
        arm_id=arm.id,
        replicate=replicate,
        scale_size=arm.scale_size,
        seed=replicate,
        letters=letters,
        display_order=list(order),
        status=status,
        stages=sum(1 << (int(stage) - 1) for stage in chosen) if status == "scored" else None,
        failure=None if judged else "as the test says",
    )


def only(rows: Sequence[ResultRow], metric: str, **scope: Any) -> ResultRow:
    """The one result of this metric whose scope holds these entries."""
    found = [row for row in rows if row.metric == metric and scope.items() <= row.scope.items()]
    assert len(found) == 1, f"{metric} {scope}: {[row.scope for row in found]}"
    return found[0]
