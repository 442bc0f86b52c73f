"""Rubrics as texts: how alike they are, whether that shows in verdicts, and what length does."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from judge_gym.analysis.data import JudgeArm, SweepData, SweepJudge
from judge_gym.analysis.groups import Group, Scope, result_row, without
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.rubric_texts import (
    Likeness,
    RubricText,
    rubric_texts,
)
from judge_gym.design.axes import facet_names
from judge_gym.metrics.cells import FloatArray, item_means, mean_scores
from judge_gym.metrics.estimate import (
    Estimate,
    jackknife_interval,
    not_estimable,
    with_interval,
)
from judge_gym.metrics.mantel import mantel
from judge_gym.metrics.slopes import Points, Slopes, partially_pooled
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

_TWO_RUBRICS = "two rubrics that models wrote for one concept and scale"
_FOUR_OWN = "four judges with a rubric of their own"
_LENGTHS = "four texts of different lengths, judged under one rubric"
ALL = "all rubrics"
DRAWS, OWNERS, FAMILIES = "draws of one owner", "owners of one family", "families"

TABLES = (
    FigureTable(
        "Rubrics as texts",
        (
            "How alike two rubrics for the same concept and scale are, by their words or by a "
            "model's embeddings: all of their text, and stage by stage. Draws of one owner show "
            "what its own sampling does; owners and families are apart where they are less alike "
            "than that."
        ),
        question="rubrics",
        rank=40,
        figures=(
            Figure("rubric_similarity", "cosine", _TWO_RUBRICS),
            Figure("rubric_stage_similarity", "cosine", _TWO_RUBRICS),
        ),
        columns=(
            Column("whole", "rubric_similarity"),
            Column("by stage", "rubric_stage_similarity"),
            Column("pairs", "rubric_similarity", "n"),
            Column("rubrics", "rubric_similarity", "items"),
        ),
        in_terminal=False,
        formulas=(
            "mean over pairs of rubrics of the cosine of their TF-IDF vectors, 0 to 1",
            "with rubric_embeddings of the vectors of that model, -1 to 1",
            "by stage: stage s of one with stage s of the other, mean over stages",
            "interval: jackknife over owners, between families over families",
        ),
        needs=("Needs two rubrics that models wrote, three owners (families) for the interval.",),
        sources=("Vectors: TfidfVectorizer of scikit-learn, 1 + ln tf. Jackknife: Tukey 1958.",),
    ),
    FigureTable(
        "Do judges whose rubrics differ judge differently?",
        (
            "The correlation, over pairs of judges, of how unlike their rubrics are and how far "
            "apart their verdicts are: 1 if rubrics order judges as verdicts do, 0 if the words of "
            "a rubric do not show in verdicts."
        ),
        question="rubrics",
        rank=45,
        figures=(Figure("rubric_verdict_correlation", "r", _FOUR_OWN),),
        columns=(
            Column("r", "rubric_verdict_correlation"),
            Column("p", "rubric_verdict_correlation", "p"),
            Column("items", "rubric_verdict_correlation", "items"),
        ),
        in_terminal=False,
        formulas=(
            (
                "Pearson's r over pairs of judges of 1 − cosine of their rubrics and the mean "
                "over items of |difference of mean x|"
            ),
            "p: orders of the judges in one table, all of them up to 7 judges, else 9,999",
        ),
        needs=("Needs 4 judges with a rubric of their own; of 5 there are 120 orders.",),
        sources=("Source: Mantel 1967, Cancer Research 27.",),
    ),
    FigureTable(
        "Text length by rubric",
        (
            "By how much the verdict rises when a text is twice as long, under each rubric: alone, "
            "and drawn towards the mean by how little its items say. Where the spread over rubrics "
            "is not small, one correction for all of them is wrong."
        ),
        question="rubrics",
        rank=50,
        figures=(
            Figure("length_effect", "0-1 scale", _LENGTHS),
            Figure("length_effect_alone", "0-1 scale", _LENGTHS),
            Figure("length_effect_mean", "0-1 scale", _LENGTHS),
            Figure("length_effect_spread", "0-1 scale", _LENGTHS),
        ),
        columns=(
            Column("partially pooled", "length_effect"),
            Column("alone", "length_effect_alone"),
            Column("items", "length_effect_alone", "items"),
            Column("mean", "length_effect_mean"),
            Column("spread over rubrics", "length_effect_spread"),
        ),
        in_terminal=False,
        formulas=(
            "b = slope over items of mean x on log₂ of the text's length, by least squares",
            "partially pooled = w·b + (1 − w)·mean, w = τ²/(τ² + SE²), τ the spread over rubrics",
        ),
        needs=("Needs 4 items whose lengths differ; two rubrics with a slope to pool.",),
        sources=(
            "Random effects: DerSimonian and Laird 1986; Hartung and Knapp 2001, or items as "
            "clusters where that is wider: rubrics share items.",
        ),
    ),
)


def similarities(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield how alike the rubrics of each concept and scale are, by who wrote them."""
    del groups  # rubrics are written for a concept, whatever the settings of who applies them
    subjects = rubric_texts(data)
    scales = Counter((concept, country) for concept, country, _ in subjects)
    for (concept, country, scale), rubrics in subjects.items():
        if len(rubrics) < 2:
            continue
        scope: Scope = {"concept": concept, "country": country}
        if scales[concept, country] > 1:
            scope["scale_size"] = scale
        ids = {rubric.id for rubric in rubrics}
        arms = [[arm for one in data.judges for arm in one.arms if arm.rubric_id in ids]]
        likeness = Likeness(data.rubric_vectors)
        lacking = likeness.lacking(rubrics)
        tables: dict[str, FloatArray | None] = {
            "rubric_similarity": None if lacking else likeness.whole(rubrics),
            "rubric_stage_similarity": None if lacking else likeness.stages(rubrics).mean(axis=0),
        }
        origin = data.origin_of(arms)
        for level in (DRAWS, OWNERS, FAMILIES):
            for metric, table in tables.items():
                if table is None:
                    estimate = not_estimable(metric, lacking, unit="cosine")
                else:
                    estimate = _at_level(metric, rubrics, table, level, likeness)
                row = result_row(estimate, {**scope, "part": level}, origin)
                yield _marked(row, data)


def _marked(row: ResultRow, data: SweepData) -> ResultRow:
    """Return a row that rests on simulated vectors as simulated."""
    if data.rubric_vectors is None or not data.rubric_vectors.simulated:
        return row
    return replace(row, simulated=True)


def _at_level(
    metric: str, rubrics: Sequence[RubricText], table: FloatArray, level: str, likeness: Likeness
) -> Estimate:
    pairs = [
        (i, j)
        for i, j in combinations(range(len(rubrics)), 2)
        if _level(rubrics[i], rubrics[j]) == level
    ]
    used = sorted({place for pair in pairs for place in pair})
    if not pairs:
        return not_estimable(metric, f"it needs two rubrics: {level}", unit="cosine")
    values = np.array([table[pair] for pair in pairs])
    estimate = Estimate(
        *(metric, float(values.mean()), None, None, len(pairs), len(used)),
        method=f"mean over pairs of rubrics, {likeness.method}, jackknife interval",
        unit="cosine",
    )
    unit = [one.family if level == FAMILIES else one.owner for one in rubrics]
    held = [{unit[i], unit[j]} for i, j in pairs]
    left_out = [values[[name not in one for one in held]] for name in sorted(set().union(*held))]
    if len(left_out) < 3 or not all(map(len, left_out)):
        return with_interval(estimate, None, absent="it needs three who wrote rubrics")
    means = np.array([left.mean() for left in left_out])
    return with_interval(
        estimate,
        jackknife_interval(estimate.estimate or 0.0, means),
        likeness.bounds,
        absent="it is the same without any of them",
    )


def _level(first: RubricText, second: RubricText) -> str:
    if first.owner == second.owner:
        return DRAWS
    return OWNERS if first.family == second.family else FAMILIES


def rubrics_and_verdicts(group: Group) -> Iterator[ResultRow]:
    """Yield whether judges whose own rubrics are less alike judge less alike."""
    if not group.mixed or group.is_level:
        return
    present = [number for number in group.present if _written(group.own_arms[number])]
    arms = [group.own_arms[number] for number in present]
    metric = "rubric_verdict_correlation"
    if not present:
        return
    verdicts = group.verdicts(arms)
    common = verdicts.common_items()
    means = mean_scores(verdicts).value[:, common]
    apart = np.abs(means[:, None] - means[None]).mean(axis=2) if common.any() else None
    n, n_items = len(verdicts), int(common.sum())
    likeness, texts = Likeness(group.data.rubric_vectors), _texts(arms)
    lacking = likeness.lacking(texts)
    if apart is None or lacking:
        because = lacking or "no item was scored by every judge"
        estimate = not_estimable(metric, because, n=n, unit="r")
    else:
        estimate = mantel(
            *(metric, 1 - _alike(arms, likeness.whole(texts)), apart, group.rng(metric)),
            n=n,
            n_items=n_items,
            units="judges",
        )
    yield _marked(group.row(estimate, arms), group.data)


def _written(arms: Sequence[JudgeArm]) -> bool:
    return any(arm.rubric_owner and arm.criteria for arm in arms)


def _texts(arms: Sequence[Sequence[JudgeArm]]) -> list[RubricText]:
    return [
        RubricText(arm.rubric_id, "", "", "", arm.labels, arm.criteria)
        for of_judge in arms
        for arm in of_judge
        if arm.criteria
    ]


def _alike(arms: Sequence[Sequence[JudgeArm]], whole: FloatArray) -> FloatArray:
    """Return how alike the rubrics of every two judges are, the mean over their draws.

    `whole` is how alike every two texts are.
    """
    owner = np.array([number for number, of in enumerate(arms) for arm in of if arm.criteria])
    member = (owner[None] == np.arange(len(arms))[:, None]).astype(np.float64)
    member /= member.sum(axis=1, keepdims=True)
    return np.asarray(member @ whole @ member.T)


def length_effects(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield what a longer text does under each rubric, and how far rubrics differ in that."""
    lengths = {one.view: one.bytes for one in data.lengths}
    alike: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        view = group.judges[0].experiment.evidence_view
        if view in lengths and not group.judges[0].experiment.judges_pairs:
            alike[canonical_json(_setting(group.scope))].append(group)
    for of_setting in alike.values():
        view = of_setting[0].judges[0].experiment.evidence_view
        points = _points(data, of_setting, np.log2(lengths[view]))
        if points:
            scope = _setting(of_setting[0].scope)
            arms = [arms for group in of_setting for arms in group.own_arms]
            slopes = partially_pooled("length_effect", points, "0-1 scale")
            for estimate, author in _estimates(slopes):
                yield result_row(estimate, {**scope, "author": author}, data.origin_of(arms))


def _setting(scope: Scope) -> Scope:
    return without(scope, "rubric", *facet_names())


def _estimates(slopes: Slopes) -> Iterator[tuple[Estimate, str]]:
    """Yield each figure with the rubric that it is of, or all."""
    for name, estimate in slopes.drawn.items():
        yield estimate, name
    for name, estimate in slopes.alone.items():
        yield replace(estimate, metric="length_effect_alone"), name
    yield replace(slopes.mean, metric="length_effect_mean"), ALL
    yield replace(slopes.spread, metric="length_effect_spread"), ALL


def _points(data: SweepData, groups: Sequence[Group], doublings: FloatArray) -> dict[str, Points]:
    """Return the mean verdict of each item under each rubric, over judges, beside its length."""
    arms: dict[str, dict[tuple[str, int], list[JudgeArm]]] = defaultdict(lambda: defaultdict(list))
    for group in groups:
        for judge in group.judges:
            for arm in judge.of_kind("own"):
                arms[_name(judge, arm)][judge.model, arm.rubric_id].append(arm)
    size, items = groups[0].n_stages, np.flatnonzero(np.isfinite(doublings))
    found = {}
    for name, by_judge in sorted(arms.items()):
        scored = data.verdicts(list(by_judge.values()), np.arange(len(doublings)), size)
        cells = mean_scores(scored)
        values, kept = item_means(cells.value[:, items], cells.present[:, items])
        if len(values):
            n = int(cells.n[:, items].sum())
            found[name] = Points(items[kept], doublings[items][kept], values, n)
    return found


def _name(judge: SweepJudge, arm: JudgeArm) -> str:
    draw = judge.experiment.rubric_draw
    owner = arm.rubric_owner or "provided"
    return f"{owner}, draw {draw}" if draw else owner


OF_GROUP = (rubrics_and_verdicts,)
OF_LEVELS = (similarities, length_effects)
