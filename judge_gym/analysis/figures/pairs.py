"""Pairs of answers judged in both orders."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from judge_gym.analysis.data import SweepData, select
from judge_gym.analysis.groups import Group, result_row
from judge_gym.analysis.registry import DESIGN_EFFECT, Column, Figure, FigureTable
from judge_gym.analysis.truths import KnownTruth, known_truth
from judge_gym.design.window import RecordedSource
from judge_gym.metrics.accuracy import (
    both_orders_correct,
    order_inconsistency,
    pair_balance,
    votes,
)
from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.orders import PairJudgements, accuracy_over_wordings, order_figures
from judge_gym.model_names import recorded_name
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

_BOTH_ORDERS = "a benchmark of pairs judged in both orders"
_PUBLISHED = "a published figure in the mapping of recorded pairs"

TABLES = (
    FigureTable(
        "Accuracy on pairs",
        (
            "Correct is of pairs judged in both orders: a right verdict counts 1, a tie that is "
            "not right or no verdict 0, another one -1, and a pair is got right when the sum is "
            "above 0. Right less wrong is of all pairs, also those of one order. Order decides is "
            "the share of pairs read in both orders whose verdict changes with the order."
        ),
        question="right",
        rank=10,
        figures=(
            Figure("accuracy_both_orders", "share", _BOTH_ORDERS),
            Figure("pair_balance", "right less wrong", _BOTH_ORDERS),
            Figure("order_inconsistency", "share", _BOTH_ORDERS),
        ),
        columns=(
            Column("correct", "accuracy_both_orders"),
            Column("right less wrong", "pair_balance"),
            Column("order decides", "order_inconsistency"),
            Column("in both orders", "accuracy_both_orders", "items"),
            Column("read in both", "order_inconsistency", "items"),
            Column("all pairs", "pair_balance", "items"),
        ),
        formulas=(
            (
                "correct = share of pairs whose votes (+1 right, else 0 a tie or none, else −1) "
                "sum above 0 over both orders; repeats of an order are averaged"
            ),
            "right less wrong = mean over pairs of the sign of the sum of their votes",
            "order decides = share of pairs with another verdict in the other order",
        ),
        needs=(
            "Needs one verdict; correct and order decides a pair in both orders.",
            "Wilson interval over pairs; t interval of right less wrong.",
        ),
        sources=("Source: Tan et al. 2024 (JudgeBench).",),
    ),
    FigureTable(
        "Pairs by the order shown",
        (
            "Accuracy on all judgements, where an answer that could not be read is not right: in "
            "all, with the pair in the file's order and swapped, and right in every order. The "
            "share of winners that were shown first is 0.50 without a preference for a place."
        ),
        question="right",
        rank=20,
        figures=(
            Figure("accuracy_of_all", "share", _BOTH_ORDERS),
            Figure("accuracy_as_listed", "share", _BOTH_ORDERS),
            Figure("accuracy_swapped", "share", _BOTH_ORDERS),
            Figure("accuracy_every_order", "share", _BOTH_ORDERS),
            Figure("same_winner", "share", _BOTH_ORDERS),
            Figure("same_tie", "share", _BOTH_ORDERS),
            Figure("same_choice", "share", _BOTH_ORDERS),
            Figure("first_shown_share", "share", _BOTH_ORDERS),
            Figure("kappa_between_orders", "kappa", _BOTH_ORDERS),
        ),
        columns=(
            Column("right", "accuracy_of_all"),
            Column("as listed", "accuracy_as_listed"),
            Column("swapped", "accuracy_swapped"),
            Column("every order", "accuracy_every_order"),
            Column("same choice", "same_winner"),
            Column("both ties", "same_tie"),
            Column("same outcome", "same_choice"),
            Column("first shown", "first_shown_share"),
            Column("kappa of orders", "kappa_between_orders"),
        ),
        formulas=(
            "right, as listed, swapped = right / all judgements, or those of one order",
            "every order, same choice, both ties = share of pairs that are right, have one winner, "
            "or are ties, in both orders; same outcome counts two unreadable answers too",
            "first shown = verdicts for the answer shown first / verdicts for either",
            "kappa of orders = Cohen's κ between the choices in the two orders",
        ),
        needs=("Needs one verdict; 100 items advised.",),
        sources=(DESIGN_EFFECT,),
    ),
    FigureTable(
        "Pairs over wordings",
        "Accuracy on all judgements under the wordings of the prompt that all judges have.",
        question="right",
        rank=30,
        figures=(
            Figure(
                "accuracy_over_wordings",
                "share",
                "recorded pairs under two wordings that all judges have",
            ),
        ),
        columns=(
            Column("right", "accuracy_over_wordings"),
            Column("judgements", "accuracy_over_wordings", "n"),
            Column("pairs", "accuracy_over_wordings", "items"),
        ),
        formulas=("right = right / all judgements; the interval is over pairs",),
        needs=("Needs two wordings that all judges have; 100 items advised.",),
        sources=(DESIGN_EFFECT,),
    ),
    FigureTable(
        "As published",
        (
            "Figures of recorded pairs with the published value beside them, from the file that "
            "the mapping names."
        ),
        question="right",
        rank=40,
        figures=(
            Figure("accuracy_of_all_as_published", "share", _PUBLISHED),
            Figure("accuracy_as_listed_as_published", "share", _PUBLISHED),
            Figure("accuracy_swapped_as_published", "share", _PUBLISHED),
            Figure("accuracy_every_order_as_published", "share", _PUBLISHED),
            Figure("same_choice_as_published", "share", _PUBLISHED),
            Figure("kappa_between_orders_as_published", "kappa", _PUBLISHED),
        ),
        columns=tuple(
            cell
            for metric, heading in (
                ("accuracy_of_all", "right"),
                ("accuracy_as_listed", "as listed"),
                ("accuracy_swapped", "swapped"),
                ("accuracy_every_order", "every order"),
                ("same_choice", "same outcome"),
                ("kappa_between_orders", "kappa"),
            )
            for cell in (
                Column(heading, f"{metric}_as_published", digits=4),
                Column("published", f"{metric}_as_published", "floor", digits=4),
            )
        ),
        formulas=("as in Pairs by the order shown",),
        needs=("Needs `published` in the mapping of the recorded judgements.",),
        sources=(DESIGN_EFFECT,),
        in_terminal=False,
    ),
)


def pair_figures(
    group: Group, number: int, truth: KnownTruth, scope: Mapping[str, str]
) -> Iterator[Estimate]:
    """Yield the figures of pairs judged in both orders, on all that this judge was given.

    A judgement without a verdict is no vote, so its pair counts as not got right by it.
    """
    _, rows = select(group.data.samples, [group.own_arms[number]])
    item = np.searchsorted(group.items, rows.item)
    has_truth = truth.stage[item] > 0
    item, stages, first = item[has_truth], rows.stages[has_truth], rows.shown_first[has_truth]
    vote = votes(stages, truth.stage[item], group.n_stages)
    scored = stages > 0
    yield both_orders_correct(item, vote, first == 1, len(group.items), scored)
    if not truth.between:
        yield pair_balance(item, vote, first == truth.stage[item], scored)
    verdicts = Verdicts(
        judge=np.zeros(int(scored.sum()), dtype=np.int64),
        item=item[scored],
        stages=stages[scored],
        n_judges=1,
        n_items=len(group.items),
        n_stages=group.n_stages,
    )
    yield order_inconsistency(verdicts, first[scored] == group.n_stages)
    pairs = PairJudgements(
        item=item,
        stages=stages,
        truth=truth.stage[item],
        listed=first == 1,
        n_items=len(group.items),
        n_stages=group.n_stages,
    )
    figures = list(order_figures(pairs, group.rng("kappa_between_orders", **scope)))
    yield from figures
    yield from _as_published(group, number, scope, figures)


def over_wordings(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the accuracy of each judge of pairs over the wordings that all its peers had too."""
    alike: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        if group.judges[0].experiment.judges_pairs and not group.is_subset:
            rest = {name: value for name, value in group.scope.items() if name != "wording"}
            alike[canonical_json(rest)].append(group)
    for same in alike.values():
        models = {judge.model for group in same for judge in group.judges}
        shared = [group for group in same if len(group.judges) == len(models)]
        if len(shared) < 2:
            continue
        scope = {name: value for name, value in same[0].scope.items() if name != "wording"}
        for number, judge in enumerate(shared[0].judges):
            truth = np.zeros(len(data.truth.value), dtype=np.int64)
            for group in shared:
                known = known_truth(group, number)
                if known is not None:
                    truth[group.items] = known
            arms = [arm for group in shared for arm in group.own_arms[number]]
            _, rows = select(data.samples, [arms])
            has_truth = truth[rows.item] > 0
            if has_truth.any():
                pairs = PairJudgements(
                    item=rows.item[has_truth],
                    stages=rows.stages[has_truth],
                    truth=truth[rows.item[has_truth]],
                    listed=rows.shown_first[has_truth] == 1,
                    n_items=len(truth),
                    n_stages=shared[0].n_stages,
                )
                about = {**scope, "judge": judge.model}
                yield result_row(accuracy_over_wordings(pairs), about, data.origin_of([arms]))


def _as_published(
    group: Group, number: int, scope: Mapping[str, str], figures: Iterable[Estimate]
) -> Iterator[Estimate]:
    """Yield each figure that the mapping has a published value of, with that value as its floor."""
    experiment = group.judges[number].experiment
    source = experiment.window.source
    if not isinstance(source, RecordedSource):
        return
    judge = recorded_name(experiment.model)
    of_judge = source.published.get(judge, {}).get(experiment.wording, {})
    own = of_judge.get(scope.get("category", ""), {})
    for figure in figures:
        if figure.metric in own:
            yield replace(figure, metric=f"{figure.metric}_as_published", floor=own[figure.metric])


OF_LEVELS = (over_wordings,)
