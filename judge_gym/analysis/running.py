"""The analysis of a sweep: samples and probes in, one result row per figure out.

It reads, groups and stores. What each figure is stands in `judge_gym.analysis.figures`, and every
formula in `judge_gym.metrics`. Figures of simulated judges are stored beside what is planted.

Scopes. Each scope holds `concept`, `country`, `window`, `rubric` (`own`, `shared by MODEL` or
`provided`) and the axes (and task type) that vary within the sweep. A figure of a comparison
group (experiments that differ in the judge alone) has just that. In addition: `judge` for one
judge, `pair` ("FAMILY and FAMILY") for two families, `judge` and `rival` for a swap, `judge` and
`arm` (own, swap, sham) for outcomes, `category` for accuracy on a part of a benchmark, `stage`,
`part`, `term` and `rule` as said below, and `axis`, `from`, `to`, `judge` for a contrast, which
lists the axis there and not among the others. `setting` appears only where two groups would else
look the same. Replicates may differ within a group.

Where wordings or rubric draws vary, each mean over items comes once per level, and once without
an entry of these in its scope: over all levels, its interval of the total error.

Where each judge has a rubric of its own, the names of figures across judges end in `_mixed`, as
rubric and judgement differ at once; the headline is the figure without it, from a common rubric.

A metric that a sweep has nothing for is one row with an empty scope, whose reason says what it
needs.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from importlib.metadata import version

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.analysis import facets, registry
from judge_gym.analysis.data import Origin, SweepData, SweepJudge, load_sweep_data, served_remarks
from judge_gym.analysis.groups import MIXED, Group, Scope, result_row
from judge_gym.analysis.testing import findings
from judge_gym.design.axes import facets_of
from judge_gym.design.axis_pairs import parts_of_level
from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import sampling
from judge_gym.metrics.estimate import Remark, RemarkKind, not_estimable
from judge_gym.model_names import members_of
from judge_gym.seeds import digest
from judge_gym.store.results import Planned, ResultRow, is_analysed, latest_run, planned, save_run


def analyse(engine: Engine, sweep: str) -> int:
    """Compute and store every figure and finding of a sweep; returns the analysis run's id.

    One transaction that sees one state of the database, even while a sweep runs. The same data
    give the same rows. Raises `StoreError` when there is no such sweep.
    """
    snapshot = engine.execution_options(isolation_level="REPEATABLE READ")
    with Session(snapshot) as session, session.begin():
        data = load_sweep_data(session, sweep)
        plan = planned(session, sweep)
        rows = figures(data)
        if data.simulated_arms and all(row.simulated for row in rows):
            # Only of the simulator: it has the parameters, and what it takes to read them.
            from judge_gym.analysis.recoveries import with_expected

            rows = with_expected(session, sweep, data, rows)
        results = findings(data, rows, plan)
        return save_run(
            session,
            sweep,
            _version(),
            bool(data.simulated_arms),
            [*rows, *absences(rows, data.origin)],
            findings=results,
            plan=plan,
            data_digest=_digest(data, plan),
        )


def run_in_force(session: Session, sweep: str) -> int | None:
    """Return the newest analysis run when another would have the same figures, else None.

    It would when the version is the same, no judgement is newer, and everything they are made of
    is the same.
    """
    newest = latest_run(session, sweep)
    if newest is None or newest.version != _version() or not is_analysed(session, sweep):
        return None
    made_of = _digest(load_sweep_data(session, sweep), planned(session, sweep))
    return newest.id if newest.data_digest == made_of else None


def _digest(data: SweepData, plan: Planned) -> str:
    # With what a row holds: rows of before a column was added lack it.
    columns = [field.name for field in fields(ResultRow)]
    of_plan = plan.plan.sha256 if plan.plan else ""
    return digest(data.digest(), of_plan, plan.standing.reason, *columns)


def _version() -> str:
    return version("judge-gym")


def figures(data: SweepData) -> list[ResultRow]:
    """Return every figure of a sweep, group by group, then what spans groups.

    Where wordings or rubric draws vary, figures are over all of them, and then by level. A draw of
    the rubric for each sample is a replicate, and no level.
    """
    of_data = facets.pooled_groups(data)
    groups = of_data.levels
    by_level = {id(group): list(_of_group(group)) for group in groups}
    rows = list(
        facets.with_total_error(
            (row for group in of_data.pooled for row in _of_group(group)),
            facets.over_facets(data, groups),
        )
    )
    for group in of_data.described:
        rows += by_level[id(group)]
    for of_levels in registry.functions("OF_LEVELS"):
        rows += of_levels(data, groups)
    for of_sweep in registry.functions("OF_SWEEP"):
        rows += of_sweep(of_data.data, of_data.over_levels)
    known = [*rows, *(row for of_group in by_level.values() for row in of_group)]
    for of_rows in registry.functions("OF_ROWS"):
        rows += of_rows(data, groups, known)
    return list(cautioned(rows, data.judges))


def _of_group(group: Group) -> Iterator[ResultRow]:
    for of_group in registry.functions("OF_GROUP"):
        yield from of_group(group)


def absences(rows: Sequence[ResultRow], origin: Origin) -> Iterator[ResultRow]:
    """Yield a row about the whole sweep for every metric that has none, saying what it needs."""
    present = {row.metric.removesuffix(MIXED) for row in rows}
    for figure in registry.figures().values():
        if figure.name not in present:
            because = f"it needs {figure.requires}"
            yield result_row(not_estimable(figure.name, because), {}, origin)


def cautioned(rows: Iterable[ResultRow], judges: Sequence[SweepJudge]) -> Iterator[ResultRow]:
    """Yield the rows, each with remarks on the judges behind it.

    They name models that did not apply a value of its axes, which contrasts on the axis leave out,
    judges that several served models, or another one, answered for, and facets whose levels the
    figure pools.
    """
    known: dict[tuple[str, bool, bool], tuple[Remark, ...]] = {}
    described = _Described(judges)
    for row in rows:
        key = (row.scope_key, row.estimate is None, _at_shared_levels(row))
        if key not in known:
            known[key] = tuple(_remarks(row, described))
        yield replace(row, remarks=(*row.remarks, *known[key])) if known[key] else row


def _remarks(row: ResultRow, judges: "_Described") -> Iterator[Remark]:
    behind = judges.behind(row.scope)
    axes = [axis for axis in sampling.AXES if axis in row.scope or axis in _levels(row.scope)]
    lost = {axis: sorted({one.model for one in behind if not one.applied(axis)}) for axis in axes}
    for axis, models in lost.items():
        if models:
            yield Remark(RemarkKind.NOT_APPLIED, names=(axis, *models))
    yield from served_remarks((one.model, arm) for one in behind for arm in one.served)
    for facet, levels in facets_of(one.experiment for one in behind).items():
        if row.estimate is not None and facet not in row.scope and not _at_shared_levels(row):
            yield Remark(RemarkKind.POOLED_FACET, len(levels), names=(facet.replace("_", " "),))


def _at_shared_levels(row: ResultRow) -> bool:
    """Whether a remark says already which levels of a facet a figure has."""
    return any(remark.kind is RemarkKind.SHARED_LEVELS for remark in row.remarks)


def _levels(scope: Scope) -> dict[str, list[str]]:
    """Return the axis that a figure changes, with its levels, as text as over the grid."""
    levels = [str(scope[end]) for end in ("from", "to", "level") if end in scope]
    return {scope["axis"]: levels} if "axis" in scope and levels else {}


class _Described:
    """Judges by the text of what an experiment says of them, each text made once."""

    def __init__(self, judges: Sequence[SweepJudge]) -> None:
        self._judges = judges
        self._places: dict[str, dict[str, set[int]]] = {}

    def behind(self, scope: Scope) -> list[SweepJudge]:
        """Return the judges that a figure of this scope is about, in their order."""
        found = set(range(len(self._judges)))
        named = {scope[part] for part in ("judge", "rival") if part in scope}
        if "pair" in scope and "concept" in scope:  # without a concept, the pair is of two
            named |= set(members_of(scope["pair"]))
        if named:
            found &= self._with("model", named) | self._with("family", named)
        if "window" in scope:
            found &= self._with("window", [scope["window"]])
        if "rubric" in scope:
            # A scope may name the file of a provided rubric, and an experiment's text does not.
            kind, _ = parts_of_level(scope["rubric"])
            found &= self._with("rubric", [kind if kind == "provided" else scope["rubric"]])
        values = {name: [str(value)] for name, value in scope.items() if name not in _OWN_ENTRIES}
        for name, levels in (values | _levels(scope)).items():
            if name in Experiment.model_fields:
                found &= self._with(name, levels)
        return [self._judges[place] for place in sorted(found)]

    def _with(self, name: str, texts: Iterable[str]) -> set[int]:
        """Return the places of the judges with one of these texts."""
        return set().union(*(self._by(name).get(text, ()) for text in texts))

    def _by(self, name: str) -> Mapping[str, set[int]]:
        if name not in self._places:
            by_text: dict[str, set[int]] = defaultdict(set)
            for place, judge in enumerate(self._judges):
                own = judge.window if name == "window" else getattr(judge.experiment, name)
                by_text[str(own)].add(place)
            self._places[name] = by_text
        return self._places[name]


_OWN_ENTRIES = ("window", "rubric")
"""Entries of a scope that are not the text of the field of their name."""
