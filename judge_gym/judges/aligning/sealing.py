"""The sealed test set: which of its texts were looked at, and opening it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from judge_gym.calibration.verdict import LEAST_LABELS
from judge_gym.judges.aligning.loading import LoadedAlignment
from judge_gym.judges.aligning.splitting import LabelUse, digest_of
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.records.items import Item
from judge_gym.runtime import Runtime
from judge_gym.store import alignments as store
from judge_gym.store.judges import save_judge


@dataclass(frozen=True)
class SealedSetUse:
    """A look at the test set."""

    at: datetime
    items: tuple[Item, ...]
    earlier: tuple[datetime, ...]
    """When texts of it were looked at before, the first first."""
    spared: int
    """Labelled texts of the test that were left out, as they had been looked at."""


@dataclass(frozen=True)
class EarlierLook:
    """What looked at texts of a test set: an alignment or a certificate, and at how many."""

    at: datetime
    by: str
    texts: int


@dataclass(frozen=True)
class SealedTexts:
    """Labelled texts of a test set: how many were never looked at, and what looked at the others.

    `is_used_up`: too few are left, and no look at the same test for the same judge is stored.
    """

    texts: int
    fresh: int
    looks: tuple[EarlierLook, ...]
    is_used_up: bool


def sealed_texts(runtime: Runtime, loaded: LoadedAlignment) -> SealedTexts:
    """Return what was looked at of the labelled texts of the test, the first look first."""
    test = loaded.parts.texts[LabelUse.TEST]
    keys, digest = {item.key for item in test}, digest_of(test)
    with runtime.session() as session:
        known = store.looks(session, simulated=loaded.simulated)
    fresh = len([item for item in test if item.key not in _used(known)])
    is_rerun = any((one.before, one.test_digest) == (loaded.judge.key, digest) for one in known)
    looks = tuple(
        EarlierLook(one.at, one.alignment, len(shared))
        for one in known
        if (shared := one.items & keys)
    )
    return SealedTexts(len(test), fresh, looks, fresh < LEAST_LABELS and not is_rerun)


def _used(looks: Sequence[store.Look]) -> set[str]:
    return {key for look in looks for key in look.items}


def opened(
    runtime: Runtime, loaded: LoadedAlignment, chosen: ModelJudge, *, look_again: bool
) -> SealedSetUse | None:
    """Open the test set, or find that it was opened for the same; None if it is used up."""
    test = loaded.parts.texts[LabelUse.TEST]
    digest, before = digest_of(test), loaded.judge
    with runtime.session() as session:
        store.lock_looks(session)
        known = store.looks(session, simulated=loaded.simulated)
        of_this = [
            one for one in known
            if (one.before, one.chosen, one.test_digest) == (before.key, chosen.key, digest)
            and (not look_again or len(one.items) == len(test))
        ]  # fmt: skip
        if not of_this:
            used = _used(known)
            items = [item for item in test if look_again or item.key not in used]
            if len(items) < LEAST_LABELS:
                return None
            store.save_look(
                session,
                alignment=loaded.design.name,
                before_id=save_judge(session, before.record),
                chosen_id=save_judge(session, chosen.record),
                test_digest=digest,
                items_digest=digest_of(items),
                items=[item.key for item in items],
                simulated=loaded.simulated,
            )
            known = store.looks(session, simulated=loaded.simulated)
            of_this = known[-1:]
    look = of_this[0]
    earlier = [one for one in known if one.id < look.id and one.items & look.items]
    items = [item for item in test if item.key in look.items]
    return SealedSetUse(
        look.at, tuple(items), tuple(one.at for one in earlier), len(test) - len(items)
    )
