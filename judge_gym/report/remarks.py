"""The sentence of every remark on a figure, in one place."""

from collections.abc import Callable, Iterable, Mapping

from judge_gym.counting import counted
from judge_gym.formats import number, plain
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.model_names import Answered

_TEXTS: Mapping[RemarkKind, Callable[[Remark], str]] = {
    RemarkKind.FEW_ITEMS: lambda remark: (
        f"{_number(remark)} items where {_advised(remark)} are advised"
    ),
    RemarkKind.FEW_DEGREES: lambda remark: (
        f"{number(remark.number, 1)} degrees of freedom where {_advised(remark)} are advised"
    ),
    RemarkKind.NEAR_FLOOR: lambda remark: (
        f"fewer than {_advised(remark)} replicates, so read against the floor"
    ),
    RemarkKind.TOO_LOW: lambda remark: (
        f"P - P0 mostly understates divergence at fewer than {_advised(remark)} replicates "
        "(by a fifth or more at 5)"
    ),
    RemarkKind.TOO_HIGH: lambda remark: (
        f"E overstates at fewer than {_advised(remark)} replicates (by 2 to 7 times), since its "
        "floor is part of it"
    ),
    RemarkKind.CORRECTED_TOO_HIGH: lambda remark: (
        f"the corrected P may overstate at fewer than {_advised(remark)} replicates (by up to 0.05 "
        "bits at 5 on 4 stages, by up to 0.2 on 7)"
    ),
    RemarkKind.DEPENDENT_REPLICATES: lambda remark: (
        "replicates of a cell that were answered close together correlate by "
        f"{number(remark.number, 2)} more than others, so P0 is too low and p too small"
    ),
    RemarkKind.INDEPENDENT_REPLICATES: lambda remark: (
        "P0 and p assume that replicates of a cell are independent of each other"
    ),
    RemarkKind.SAMPLES_LEFT_OUT: lambda remark: (
        f"{_number(remark)} samples without {remark.names[0]} are left out"
    ),
    RemarkKind.PAIRS_LEFT_OUT: lambda remark: f"{_number(remark)} without spread left out",
    RemarkKind.PEOPLE_LEFT_OUT: lambda remark: (
        f"{_number(remark)} {'person' if remark.number == 1 else 'people'} with fewer than "
        f"{_advised(remark)} items left out"
    ),
    RemarkKind.FEW_PEOPLE: lambda remark: (
        f"{_number(remark)} people, where {_advised(remark)} are advised"
    ),
    RemarkKind.RANDOM_LABELS: lambda remark: "holds if a random part of the items was labelled",
    RemarkKind.JUDGES_LEFT_OUT: lambda remark: (
        f"without a verdict and left out: {', '.join(remark.names)}"
    ),
    RemarkKind.NOT_APPLIED: lambda remark: (
        f"{remark.names[0]} not applied by {', '.join(remark.names[1:])}"
    ),
    RemarkKind.SERVED_MODELS: lambda remark: Answered(remark.names[0], remark.names[1:]).note(
        f" ({counted(int(remark.number), 'cell')} by several)" if remark.number else ""
    ),
    RemarkKind.AT_ZERO: lambda remark: (
        f"the variance of {' x '.join(remark.names) or 'a term'} was estimated below 0 and counts "
        "as 0"
    ),
    RemarkKind.BLOCK: lambda remark: (
        f"on {_number(remark)} of {_advised(remark)} levels of {remark.names[0]}, the largest "
        "complete crossing"
    ),
    RemarkKind.POOLED_FACET: lambda remark: f"pools {_number(remark)} levels of {remark.names[0]}",
    RemarkKind.SHARED_LEVELS: lambda remark: (
        f"of {_advised(remark)} {remark.names[0]}s, on the {_number(remark)} that both sides have"
    ),
    RemarkKind.ITEMS_ALIKE: lambda remark: (
        "each item counts the same, however many verdicts it has; in the figure of one wording or "
        "draw each verdict does, so this one may lie outside theirs"
    ),
    RemarkKind.NOTHING_SWAPPED: lambda remark: (
        f"{counted(int(remark.number or 0), 'item')} without a name to exchange left out"
    ),
    RemarkKind.REFERENCES: lambda remark: f"compared with {', '.join(remark.names)}",
}


def remark_text(remark: Remark) -> str:
    """Return what a remark says, without a full stop."""
    return _TEXTS[remark.kind](remark)


def remark_texts(remarks: Iterable[Remark]) -> list[str]:
    """Return what remarks say, each once; numbers of items that are too few as one range."""
    few: dict[float, list[float]] = {}
    others = set()
    for remark in remarks:
        if remark.kind is RemarkKind.FEW_ITEMS:
            few.setdefault(remark.advised or 0, []).append(remark.number or 0)
        else:
            others.add(remark_text(remark))
    ranges = [
        f"{plain(min(numbers))} items where {plain(advised)} are advised"
        if min(numbers) == max(numbers)
        else f"{plain(min(numbers))} to {plain(max(numbers))} items where {plain(advised)} are "
        "advised"
        for advised, numbers in few.items()
    ]
    return [*ranges, *sorted(others)]


def _number(remark: Remark) -> str:
    return plain(remark.number or 0)


def _advised(remark: Remark) -> str:
    return plain(remark.advised or 0)
