"""The sentence of every remark on a figure, in one place."""

from collections.abc import Callable, Iterable, Mapping

from judge_gym.formats import number, plain
from judge_gym.metrics.estimate import Remark, RemarkKind

_TEXTS: Mapping[RemarkKind, Callable[[Remark], str]] = {
    RemarkKind.FEW_ITEMS: lambda it: f"{_number(it)} items where {_advised(it)} are advised",
    RemarkKind.FEW_DEGREES: lambda it: (
        f"{number(it.number, 1)} degrees of freedom where {_advised(it)} are advised"
    ),
    RemarkKind.NEAR_FLOOR: lambda it: (
        f"fewer than {_advised(it)} replicates, so read against the floor"
    ),
    RemarkKind.TOO_LOW: lambda it: (
        f"P - P0 mostly understates divergence at fewer than {_advised(it)} replicates "
        "(by a fifth or more at 5)"
    ),
    RemarkKind.TOO_HIGH: lambda it: (
        f"E overstates at fewer than {_advised(it)} replicates (by 2 to 7 times), since its "
        "floor is part of it"
    ),
    RemarkKind.INDEPENDENT_REPLICATES: lambda it: (
        "P0 and p assume that replicates of a cell are independent of each other"
    ),
    RemarkKind.SAMPLES_LEFT_OUT: lambda it: (
        f"{_number(it)} samples without {it.names[0]} are left out"
    ),
    RemarkKind.PAIRS_LEFT_OUT: lambda it: f"{_number(it)} without spread left out",
    RemarkKind.JUDGES_LEFT_OUT: lambda it: f"without a verdict and left out: {', '.join(it.names)}",
    RemarkKind.NOT_APPLIED: lambda it: f"{it.names[0]} not applied by {', '.join(it.names[1:])}",
    RemarkKind.REFERENCES: lambda it: f"compared with {', '.join(it.names)}",
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
