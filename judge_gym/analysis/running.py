"""The analysis of a sweep: samples and probes in, one result row per figure out.

It reads, groups and stores; every formula stands in `judge_gym.metrics`. What is planted in the
simulator is no result and is not here.

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

Across judges. These compare judges on the items all of them scored. Where each judge has a rubric
of its own their names end in `_mixed`, as rubric and judgement differ at once; the headline is
the figure without it, from a common rubric.

- `polarization`: how far families stand apart (bits), with floor P0 and permutation p
- `polarization_excess`: P - P0; `polarization_corrected`: P less the bias of few replicates
- `replicate_time_correlation`: how much more replicates answered one after the other agree
- `polarization_ordinal`, `polarization_ordinal_excess`: the same by distance along the scale
- `polarization_pair`: P of two families, p adjusted by Holm over the group's pairs
- `entrenchment`: P times the mean probed probability, E; `entrenchment_excess`: E - E0
- `overconfidence`, per judge: probed probability - agreement shown by the other judges
- `brier_score`, per judge: squared error of that probability
- `conflict`, `belief_distance`, and `conflict_pair`, `belief_distance_pair` of two judges: chance
  that verdicts are incompatible, and the unbiased distance between sets
- `conflict_polarization_correlation`: over items, P and the conflict beyond the judges' own
- `dempster_conflict`, `total_conflict`, and `combined_gap` by `rule`: the classical combinations,
  for the record
- `krippendorff_alpha_ordinal`, `gwet_ac_nominal`: agreement beyond chance
- `mean_error_correlation`, `effective_votes`: r̄ and how many independent judges these are worth
- `variance_component` by `term`: of single scores, by item, judge, wording, rubric draw, their
  interactions and replicates; `half_width`: expected of their mean; `next_step_levels`,
  `next_step_judgements`, `next_step_probes`, `next_step_cost` by `part`: what cuts it by a fifth
- `decomposition`, `decomposition_share` by `part`: polarization split between judges and rubrics,
  where judges applied rivals' rubrics
- `forced_choice_polarization`, `forced_choice_distance`: what subset verdicts take off beyond
  chance; `forced_choice_polarization_drop`, `forced_choice_distance_drop`: take off in all

Over the sweep:

- `axis_effect`, `axis_effect_confidence`, `axis_share_higher`: each axis over the grid
- `concept_rank_correlation`: between two concepts, over experiments in common
- `regression`, `regression_ordered_logit`, `regression_mixed_model`: coefficients by term
- `interaction_share_first`, `interaction_share_second`, `interaction_share_both`: of the variance
  between the cells of an `axis` and its `moderator`; `effect_over_levels`, `effect_lowest`,
  `effect_highest`: a change of the axis over the levels of the moderator, with the p of "one sign
  at all of them"
- `item_functioning`: how much higher a `judge` places the items of a `group` (`items_by` country,
  outlet or category) than others at the same consensus; `paired_functioning`: how much more a
  change of the text (view, actors) moved it than the other judges; p by Benjamini-Hochberg
- `specification`: a `claim` (polarization, or the difference of a `pair` of judges in accuracy or
  score) in one cell: a group, of recorded pairs also one `order` of the answers;
  `specification_median`, `specification_same_sign`, `specification_significant` and
  `specification_against`: the claim over all cells of a concept, country and window

Per judge, on the items all judges of the group scored:

- `self_conflict`, `uncertainty_gap`, and `belief`, `betp`, `plausibility` of each `stage` (subset)
- `confidence`: mean probed probability
- `mean_score`: of all its verdicts, on the 0-1 scale; `mean_score_common`: on the common items,
  where these are fewer
- `replicate_variance`, `replicate_icc`: consistency over replicates
- `subset_width`, `subset_information`: share of the scale, and of its bits, left open (subset)
- `position_bias`, `label_bias`: excess share of the stage displayed first, or lettered A
- `accuracy`, `cohens_kappa`: share at the true stage, and beyond chance (control, benchmark; of
  recorded judgements on all that the judge answered)
- `stage_error`, `cohens_kappa_quadratic`: distance from the true stage, and agreement in which it
  counts by its square (benchmark with three stages or more)
- `written_mean`, `written_error`, `written_correlation`: of recorded scores that are not stages, as
  the file has them: their mean, distance from the known ones, and rank correlation with them
- `letter_overconfidence`, `letter_brier_score`: token probability of the verdict's letter against
  whether the verdict is right, on all the judge was given (`logprobs`; control, benchmark)
- `accuracy_both_orders`, `pair_balance` (right less wrong), `order_inconsistency`,
  `first_shown_share`, `kappa_between_orders`: of recorded pairs, on all the judge was given
- `accuracy_of_all`, `accuracy_as_listed`, `accuracy_swapped`, `accuracy_every_order`,
  `same_choice`, of it `same_winner` and `same_tie`: of recorded pairs, an unreadable answer not
  being right
- `accuracy_over_wordings`: the first of these over the wordings that all judges have
- the same with `_as_published`, beside a published value as their floor
- `coverage`, `accuracy_discounted`, `accuracy_u65`, `accuracy_u80`: the same for subset verdicts
- `control_error`, `control_rank_correlation`: |0-1 score - index|, Spearman's rho (control)
- `alt_test_winning_rate`, `alt_test_advantage`, `alt_test_lead`: whether it may stand in for the
  people of a set of labels (`people`)
- `people_distance`, `people_distance_excess`, `people_distance_ordinal`,
  `people_distance_ordinal_excess`: of a judgement from their labels, beside that of one of them
- `people_belief_distance`: unbiased distance between its sets and theirs

Of the people of a set of labels (`people`):

- `people_alpha_ordinal`: their agreement beyond chance

Per judge, on all its items:

- `corrected_mean`, `corrected_mean_stratified`: its mean score corrected by labels of a part of the
  items, of people or known answers, drawn at random from all, or within each of its stages
- `corrected_share`, `corrected_share_rogan_gladen`: the share of a `stage`, by prediction-powered
  inference, and that of the items without a label by sensitivity and specificity
- `corrected_difference`, `corrected_difference_rogan_gladen`: between two categories of items
- `labels_next`, `labels_half_width`: of the next labels how many for items of a `stage`, and the
  half-width of the mean's interval that is expected
- `probe_difference`: mean difference between the two probes of samples probed twice (all arms)
- `abstention_rate`, `unparseable_rate`, `refused_rate`, `failed_rate`: shares of samples, by arm
- `reasoning_passes`, `reasoning_observable`, `reasoning_consistent`, `reasoning_uses_evidence`:
  shares of reasoning that the sweep's critic marked so; `reasoning_absent`, `reasoning_unmarked`:
  shares of verdicts without reasoning, and without marks
- `score_mean_passing`, `score_mean_shift`: mean score of verdicts whose reasoning passes, and that
  minus the mean of all; `polarization_excess_passing`, `polarization_excess_shift` across judges
- `swap_sensitivity`, `sham_sensitivity`: change of confidence under a rival's rubric, or under
  a second one of the judge's own; p adjusted by Holm over the group
- `swap_verdict_shift`, `sham_verdict_shift`: signed move of the verdict on the 0-1 scale
- `swap_verdict_change`, `sham_verdict_change`: its absolute move, with a noise floor
- `contrast`, `contrast_confidence`: paired change of the 0-1 score, or of confidence, between two
  experiments that differ in one axis, `to` - `from`; p adjusted by Benjamini-Hochberg

A metric that a sweep has nothing for is one row with an empty scope, whose reason says what it
needs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.analysis.comparing import agreements, beliefs, comparisons
from judge_gym.analysis.corrections import corrections
from judge_gym.analysis.data import Judge, Origin, SweepData, load_sweep_data, served_remarks
from judge_gym.analysis.design_space import concepts_compared, contrasts, rankings, regressions
from judge_gym.analysis.facets import over_facets, variances, votes
from judge_gym.analysis.groups import MIXED, Scope, comparison_groups, result_row
from judge_gym.analysis.interactions import EFFECTS, SHARES, interactions
from judge_gym.analysis.item_functioning import functioning
from judge_gym.analysis.judges import accuracies, over_wordings, single_judges
from judge_gym.analysis.multiverse import CELL, CURVE, specification_curves
from judge_gym.analysis.people import people_figures
from judge_gym.analysis.reasoning import reasoning
from judge_gym.analysis.rubrics import decompositions, forced_choices, swap_effects
from judge_gym.analysis.testing import findings
from judge_gym.design.axes import facets_of
from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import sampling
from judge_gym.metrics.estimate import Remark, RemarkKind, not_estimable
from judge_gym.seeds import digest
from judge_gym.store.results import Planned, ResultRow, latest_run, planned, save_run

_OF_A_GROUP = (
    comparisons,
    beliefs,
    agreements,
    single_judges,
    reasoning,
    swap_effects,
    decompositions,
    accuracies,
    people_figures,
    corrections,
    votes,
)
_OF_THE_SWEEP = (
    over_facets,
    over_wordings,
    variances,
    contrasts,
    rankings,
    concepts_compared,
    forced_choices,
    regressions,
    interactions,
    functioning,
)


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

    It would when the version is the same and so is everything they are made of.
    """
    newest = latest_run(session, sweep)
    if newest is None or newest.version != _version():
        return None
    made_of = _digest(load_sweep_data(session, sweep), planned(session, sweep))
    return newest.id if newest.data_digest == made_of else None


def _digest(data: SweepData, plan: Planned) -> str:
    return digest(data.digest(), plan.plan.sha256 if plan.plan else "", plan.standing.reason)


def _version() -> str:
    return version("judge-gym")


def figures(data: SweepData) -> list[ResultRow]:
    """Return every figure of a sweep, group by group, then what spans groups."""
    groups = comparison_groups(data)
    rows = [
        row for group in groups for group_figures in _OF_A_GROUP for row in group_figures(group)
    ]
    rows += [row for sweep_figures in _OF_THE_SWEEP for row in sweep_figures(data, groups)]
    rows += specification_curves(data, groups, rows)
    return list(cautioned(rows, data.judges))


NEEDS = {
    "an experiment": (
        *("polarization", "polarization_excess", "polarization_corrected"),
        "replicate_time_correlation",
        *("polarization_ordinal", "polarization_ordinal_excess"),
        *("entrenchment", "entrenchment_excess", "overconfidence", "brier_score", "confidence"),
        *("conflict", "belief_distance", "self_conflict"),
        *("dempster_conflict", "total_conflict", "combined_gap"),
        *("krippendorff_alpha_ordinal", "gwet_ac_nominal"),
        *("variance_component", "half_width", "mean_error_correlation", "effective_votes"),
        *("next_step_levels", "next_step_judgements"),
        *("next_step_probes", "next_step_cost"),
        *("abstention_rate", "unparseable_rate", "refused_rate", "failed_rate"),
        *("mean_score", "replicate_variance", "replicate_icc", "probe_difference"),
        *("position_bias", "label_bias"),
    ),
    "verdicts of two judge families on the same items": ("polarization_pair",),
    "verdicts of two judges, of which one scored items that the other did not": (
        "mean_score_common",
    ),
    "verdicts of two judges on the same items": ("conflict_pair", "belief_distance_pair"),
    "single verdicts of two judges": ("conflict_polarization_correlation",),
    "a judge that applied a rival's rubric": (
        *("swap_sensitivity", "swap_verdict_shift", "swap_verdict_change"),
        *("decomposition", "decomposition_share"),
    ),
    "a judge that applied a second rubric of its own": (
        *("sham_sensitivity", "sham_verdict_shift", "sham_verdict_change"),
    ),
    "the same judges with single and with subset verdicts under a common rubric": (
        *("forced_choice_polarization", "forced_choice_polarization_drop"),
        *("forced_choice_distance", "forced_choice_distance_drop"),
    ),
    "single verdicts on items whose known answer is a stage of the rubric": (
        *("accuracy", "cohens_kappa"),
    ),
    "single verdicts on items whose known answer is one of three stages or more (benchmark)": (
        *("stage_error", "cohens_kappa_quadratic"),
    ),
    "recorded scores with half points, or of more values than stages": (
        *("written_mean", "written_error", "written_correlation"),
    ),
    "single verdicts with `logprobs: true` on items whose known answer is a stage of the rubric": (
        *("letter_overconfidence", "letter_brier_score"),
    ),
    "a control with an index for its items": ("control_error", "control_rank_correlation"),
    "a benchmark of pairs judged in both orders": (
        *("accuracy_both_orders", "pair_balance", "order_inconsistency"),
        *("accuracy_of_all", "accuracy_as_listed", "accuracy_swapped", "accuracy_every_order"),
        *("same_choice", "same_winner", "same_tie"),
        *("first_shown_share", "kappa_between_orders"),
    ),
    "recorded pairs under two wordings that all judges have": ("accuracy_over_wordings",),
    "a published figure in the mapping of recorded pairs": (
        *("accuracy_of_all_as_published", "accuracy_as_listed_as_published"),
        *("accuracy_swapped_as_published", "accuracy_every_order_as_published"),
        *("same_choice_as_published", "kappa_between_orders_as_published"),
    ),
    "subset verdicts on items whose known answer is a stage of the rubric": (
        *("coverage", "accuracy_discounted", "accuracy_u65", "accuracy_u80"),
    ),
    "labels of people for its items (judge-gym data import-annotations)": (
        *("alt_test_winning_rate", "alt_test_advantage", "alt_test_lead"),
        "people_alpha_ordinal",
        *("people_distance", "people_distance_excess"),
        *("people_distance_ordinal", "people_distance_ordinal_excess"),
        "people_belief_distance",
    ),
    "labels, of people or known answers, for a part of the items": (
        *("corrected_mean", "corrected_mean_stratified"),
        *("corrected_share", "corrected_share_rogan_gladen"),
        *("labels_next", "labels_half_width"),
    ),
    "labels for a part of the items, and items of several categories": ("corrected_difference",),
    "labels for a part of the items, of several categories, and two stages": (
        "corrected_difference_rogan_gladen",
    ),
    "verdicts that may name several stages": (
        *("subset_width", "subset_information", "uncertainty_gap"),
        *("belief", "betp", "plausibility"),
    ),
    "two experiments of a judge that differ in one axis alone": (
        *("contrast", "contrast_confidence"),
        *("axis_effect", "axis_effect_confidence", "axis_share_higher"),
    ),
    "a `score_critic` in its file, and scored verdicts": (
        *("reasoning_passes", "reasoning_observable", "reasoning_consistent"),
        *("reasoning_uses_evidence", "reasoning_absent", "reasoning_unmarked"),
        *("score_mean_passing", "score_mean_shift"),
        *("polarization_excess_passing", "polarization_excess_shift"),
    ),
    "two concepts": ("concept_rank_correlation",),
    "three judges under a common rubric and 5 items of two countries, outlets or categories": (
        "item_functioning",
    ),
    "two judges with two texts of the same items under a common rubric": ("paired_functioning",),
    "two axes that are crossed": (*SHARES, *EFFECTS),
    "two cells in which the same judges applied a common rubric": (CELL, *CURVE),
    "a scored verdict": ("regression", "regression_ordered_logit", "regression_mixed_model"),
}
"""What a sweep must hold for there to be a row of these metrics."""

UNITS = {
    "bits": """
        polarization polarization_excess polarization_corrected polarization_excess_passing
        polarization_excess_shift polarization_pair entrenchment entrenchment_excess
        forced_choice_polarization_drop forced_choice_polarization
    """,
    "correlation": "replicate_time_correlation",
    "share of the scale": "polarization_ordinal polarization_ordinal_excess",
    "agreement beyond chance": "krippendorff_alpha_ordinal gwet_ac_nominal people_alpha_ordinal",
    "probability": """
        conflict conflict_pair dempster_conflict combined_gap confidence overconfidence
        brier_score swap_sensitivity sham_sensitivity probe_difference letter_overconfidence
        letter_brier_score self_conflict uncertainty_gap belief betp plausibility
        alt_test_advantage contrast_confidence axis_effect_confidence
    """,
    "squared Jaccard distance": """
        belief_distance belief_distance_pair forced_choice_distance_drop forced_choice_distance
    """,
    "share": """
        total_conflict abstention_rate unparseable_rate refused_rate failed_rate
        reasoning_passes reasoning_observable reasoning_consistent reasoning_uses_evidence
        accuracy_over_wordings
        reasoning_absent reasoning_unmarked accuracy accuracy_of_all accuracy_as_listed
        accuracy_swapped accuracy_every_order same_choice same_winner same_tie first_shown_share
        accuracy_of_all_as_published accuracy_as_listed_as_published
        accuracy_swapped_as_published accuracy_every_order_as_published same_choice_as_published
        accuracy_both_orders order_inconsistency coverage subset_width subset_information
        position_bias label_bias alt_test_winning_rate alt_test_lead people_distance
        people_distance_excess people_distance_ordinal people_distance_ordinal_excess
        corrected_share corrected_share_rogan_gladen corrected_difference_rogan_gladen
        axis_share_higher specification_same_sign specification_significant
        specification_against interaction_share_first interaction_share_second
        interaction_share_both
    """,
    "votes": "effective_votes",
    "coefficient": "mean_error_correlation",
    "squared 0-1 scale": "variance_component decomposition replicate_variance",
    "levels": "next_step_levels",
    "judgements": "next_step_judgements",
    "probes": "next_step_probes",
    "USD": "next_step_cost",
    "0-1 score or share correct": "half_width",
    "rho": """
        conflict_polarization_correlation control_rank_correlation concept_rank_correlation
        written_correlation
    """,
    "points as written": "written_mean written_error",
    "0-1 scale": """
        swap_verdict_shift sham_verdict_shift swap_verdict_change sham_verdict_change
        mean_score mean_score_common score_mean_passing score_mean_shift control_error
        corrected_mean corrected_mean_stratified corrected_difference labels_half_width contrast
        axis_effect item_functioning paired_functioning effect_over_levels effect_lowest
        effect_highest
    """,
    "share of polarization": "decomposition_share",
    "share of variance": "replicate_icc",
    "stages": "stage_error",
    "kappa": """
        cohens_kappa cohens_kappa_quadratic kappa_between_orders kappa_between_orders_as_published
    """,
    "right less wrong": "pair_balance",
    "utility": "accuracy_discounted accuracy_u65 accuracy_u80",
    "squared distance": "people_belief_distance",
    "labels": "labels_next",
    "0-1 scale or probability": "regression",
    "log odds": "regression_ordered_logit",
    "0-1 scale or squared 0-1 scale": "regression_mixed_model",
    "0-1 scale or share": "specification_median specification",
}
"""Unit → the metrics in it, of estimate, interval and floor; one that depends says so with "or"."""


def absences(rows: Sequence[ResultRow], origin: Origin) -> Iterator[ResultRow]:
    """Yield a row about the whole sweep for every metric that has none, saying what it needs."""
    present = {row.metric.removesuffix(MIXED) for row in rows}
    for needs, metrics in NEEDS.items():
        for metric in metrics:
            if metric not in present:
                yield result_row(not_estimable(metric, f"it needs {needs}"), {}, origin)


def cautioned(rows: Iterable[ResultRow], judges: Sequence[Judge]) -> Iterator[ResultRow]:
    """Yield the rows, each with remarks on the judges behind it.

    They name models that did not apply a value of its axes, which contrasts on the axis leave out,
    judges that several served models, or another one, answered for, and facets whose levels the
    figure pools.
    """
    known: dict[tuple[str, bool], tuple[Remark, ...]] = {}
    for row in rows:
        key = (row.scope_key, row.estimate is None)
        if key not in known:
            known[key] = tuple(_remarks(row, judges))
        yield replace(row, remarks=(*row.remarks, *known[key])) if known[key] else row


def _remarks(row: ResultRow, judges: Iterable[Judge]) -> Iterator[Remark]:
    behind = list(_behind(row.scope, judges))
    axes = [axis for axis in sampling.AXES if axis in row.scope or axis in _levels(row.scope)]
    lost = {axis: sorted({one.model for one in behind if not one.applied(axis)}) for axis in axes}
    for axis, models in lost.items():
        if models:
            yield Remark(RemarkKind.NOT_APPLIED, names=(axis, *models))
    yield from served_remarks((one.model, arm) for one in behind for arm in one.served)
    for facet, levels in facets_of(one.experiment for one in behind).items():
        if row.estimate is not None and facet not in row.scope:
            yield Remark(RemarkKind.POOLED_FACET, len(levels), names=(facet.replace("_", " "),))


def _levels(scope: Scope) -> dict[str, list[str]]:
    """Return the axis that a figure changes, with its levels, as text as over the grid."""
    levels = [str(scope[end]) for end in ("from", "to", "level") if end in scope]
    return {scope["axis"]: levels} if "axis" in scope and levels else {}


def _behind(scope: Scope, judges: Iterable[Judge]) -> Iterator[Judge]:
    """Yield the judges that a figure of this scope is about."""
    named = {scope[part] for part in ("judge", "rival") if part in scope}
    if "pair" in scope and "concept" in scope:  # without a concept, the pair is of two
        named |= set(scope["pair"].split(" and "))
    values = {name: [str(value)] for name, value in scope.items() if name not in _OWN_ENTRIES}
    levels = [
        (name, levels)
        for name, levels in (values | _levels(scope)).items()
        if name in Experiment.model_fields
    ]
    for judge in judges:
        experiment = judge.experiment
        if named and not named & {judge.model, experiment.family}:
            continue
        if scope.get("window", judge.window) != judge.window:
            continue
        if "rubric" in scope and not scope["rubric"].startswith(str(experiment.rubric)):
            continue
        if all(str(getattr(experiment, name)) in allowed for name, allowed in levels):
            yield judge


_OWN_ENTRIES = ("window", "rubric")
"""Entries of a scope that are not the text of the field of their name."""
