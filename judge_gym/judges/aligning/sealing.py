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


def fresh_texts(runtime: Runtime, loaded: LoadedAlignment) -> int:
    """Return how many labelled texts of the test were never looked at."""
    with runtime.session() as session:
        used = _used(store.looks(session, simulated=loaded.simulated))
    return sum(item.key not in used for item in loaded.parts.texts[LabelUse.TEST])


def may_be_rerun(runtime: Runtime, loaded: LoadedAlignment) -> bool:
    """Whether a look at the same test set for the same judge is stored."""
    test = digest_of(loaded.parts.texts[LabelUse.TEST])
    with runtime.session() as session:
        known = store.looks(session, simulated=loaded.simulated)
    return any((one.before, one.test_digest) == (loaded.judge.key, test) for one in known)


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
