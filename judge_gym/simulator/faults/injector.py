"""Which request meets which fault: a seeded draw, never a matter of time or chance.

For the table at `position` of the plan (from 0) a request meets the fault when
`draw(seed, position, key, attempt)` is below the table's share. `key` is a hash of the request's
content and `attempt` how many times the plan has seen that content (1 for the first time), so
that a retry is drawn anew; for a sticky table it is always 0.
"""

import time
from collections import Counter
from collections.abc import Callable

from aiohttp import web

from judge_gym.seeds import derive_seed
from judge_gym.simulator.faults.plan import Fault, FaultPlan, Subject


def draw(seed: int, position: int, key: str, attempt: int) -> float:
    """Return the number in [0, 1) that is compared with the share of a table."""
    return derive_seed("fault", seed, position, key, attempt) / 2**63


class Injector:
    """The plan in force and what has happened under it; `given` counts faults by kind.

    `given` counts since the start of the simulator, everything else since `use`. Only the event
    loop may touch it.
    """

    def __init__(self, plan: FaultPlan, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.given: Counter[str] = Counter()
        self.use(plan)

    def use(self, plan: FaultPlan) -> None:
        """Put `plan` into force, as if no request had come before."""
        self.plan = plan
        self._since = self._clock()
        self._attempts: Counter[str] = Counter()
        self._concerned = [0] * len(plan.faults)
        self._times = [0] * len(plan.faults)

    @property
    def active(self) -> bool:
        """Whether there is any fault to give."""
        return bool(self.plan.faults)

    def meet(self, subject: Subject) -> Fault | None:
        """Return the fault that `subject` meets, and count it."""
        self._attempts[subject.key] += 1
        attempt, seconds = self._attempts[subject.key], self._clock() - self._since
        for position, fault in enumerate(self.plan.faults):
            if not fault.concerns(subject):
                continue
            self._concerned[position] += 1
            used_up = fault.max_count is not None and self._times[position] >= fault.max_count
            if used_up or not fault.in_window(self._concerned[position], seconds):
                continue
            number = draw(self.plan.seed, position, subject.key, 0 if fault.sticky else attempt)
            if number < fault.share:
                self._times[position] += 1
                self.given[fault.kind] += 1
                return fault
        return None


INJECTOR = web.AppKey("injector", Injector)
