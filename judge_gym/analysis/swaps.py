"""What another rubric does to a judge: each rival's (swap), and a second of its own (sham)."""

from collections.abc import Iterator
from dataclasses import dataclass

from judge_gym.analysis.comparing import adjusted_by_holm
from judge_gym.analysis.data import Arm, Arms, Judge
from judge_gym.analysis.groups import Group
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.presentation import Arm as Kind
from judge_gym.metrics.presentation import swap_sensitivity, verdict_change, verdict_shift
from judge_gym.store.results import ResultRow


@dataclass(frozen=True)
class _Pair:
    """A judge's own arm beside one other arm of it."""

    own: tuple[Arm, ...]
    other: Arm
    scope: dict[str, str]

    @property
    def arms(self) -> Arms:
        return [self.own, [self.other]]


def swap_effects(group: Group) -> Iterator[ResultRow]:
    """Yield, for every (judge, rival) and every sham, the effects on confidence and verdicts.

    The p values of each figure are adjusted over the pairs of the group, those of the shams over
    the shams.
    """
    for kind in Kind:
        pairs = [pair for judge in group.judges for pair in _pairs(judge, kind)]
        figures = [_effects(group, pair, kind) for pair in pairs]
        for estimates in zip(*figures, strict=True):
            adjusted = adjusted_by_holm(list(estimates))
            for pair, (estimate, p) in zip(pairs, adjusted, strict=True):
                yield group.row(estimate, pair.arms, p_adjusted=p, **pair.scope)


def _pairs(judge: Judge, kind: Kind) -> Iterator[_Pair]:
    for other in judge.of_kind(kind.value):
        scope = {"judge": judge.model}
        if kind is Kind.SWAP:
            scope["rival"] = other.rubric_owner
        yield _Pair(judge.of_kind("own"), other, scope)


def _effects(group: Group, pair: _Pair, kind: Kind) -> list[Estimate]:
    """Return the effects of one pair; stages are never compared, only probes and 0-1 scores."""
    own, other = group.verdicts([pair.own]), group.verdicts([[pair.other]])

    return [
        swap_sensitivity(
            group.answered([pair.own]),
            group.answered([[pair.other]]),
            group.rng(f"{kind.value}_sensitivity", **pair.scope),
            kind,
        ),
        verdict_shift(own, other, group.rng(f"{kind.value}_verdict_shift", **pair.scope), kind),
        verdict_change(own, other, group.rng(f"{kind.value}_verdict_change", **pair.scope), kind),
    ]
