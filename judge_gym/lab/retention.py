"""Retention of the lab's records: which work is finished and old, and emptying its prompts."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.errors import AtWorkError
from judge_gym.lab.status import sweep_status
from judge_gym.store.experiments import sweep_names
from judge_gym.store.locks import exclusive, is_in_progress
from judge_gym.store.retention import (
    AT_ONCE,
    OldPrompts,
    OldRecords,
    delete_old_records,
    empty_prompts,
    old_records,
    prompts_of_experiments,
    prompts_of_judges,
    sharing,
    unshared,
)

FINISHED, IN_PROGRESS = "finished", "in progress"
"""States of a sweep, as `Status.state` names them."""
OF_JUDGES = "judges for products"


@dataclass(frozen=True)
class Pruning:
    """What is pruned, or would be."""

    prompts: Mapping[str, OldPrompts]
    """Sweep, or `OF_JUDGES` → what of it goes, where something does."""
    whole: Mapping[str, str]
    """Sweep of which nothing goes → its state."""
    shared: Mapping[str, Sequence[str]]
    """Finished sweep → unfinished ones that have experiments of it, whose prompts stay."""
    records: OldRecords

    @property
    def is_empty(self) -> bool:
        return not (self.prompts or self.records.gate_changes or self.records.runs)

    def __str__(self) -> str:
        calls = sum(len(one.call_ids) for one in self.prompts.values())
        size = sum(one.bytes for one in self.prompts.values())
        return (
            f"prompts of {counted(calls, 'call')} ({size / 1e6:,.1f} MB), "
            f"{counted(self.records.gate_changes, 'record')} of limits, "
            f"{counted(self.records.runs, 'record')} of runs"
        )


def prune(engine: Engine, before: datetime, *, dry_run: bool) -> Pruning:
    """Empty the prompts of finished work from before a time; with `dry_run`, only count them.

    Some thousand calls go in one transaction, so the next prune resumes one that was stopped.
    """
    with Session(engine) as session:
        states = {
            name: _state(session, name, locked=False) for name in sorted(sweep_names(session))
        }
    finished = {name for name, state in states.items() if state == FINISHED}
    whole = {name: state for name, state in states.items() if state != FINISHED}
    prompts: dict[str, OldPrompts] = {}
    shared: dict[str, list[str]] = {}
    seen: set[int] = set()  # finished sweeps may share experiments
    for name in sorted(finished):
        with Session(engine) as session:
            tags = unshared(session, name, finished)
            shared[name] = sharing(session, name, finished)
        locks = {"experiments": tags.values()}
        try:
            with nullcontext() if dry_run else exclusive(engine, locks), Session(engine) as session:
                # It may have changed before it was locked.
                if (state := _state(session, name, locked=not dry_run)) != FINISHED:
                    whole[name] = state
                    continue
                mine = unshared(session, name, finished).keys() & tags.keys()
                prompts[name] = prompts_of_experiments(session, mine - seen, before)
                seen |= mine
                _empty(engine, [] if dry_run else prompts[name].call_ids)
        except AtWorkError:
            whole[name] = IN_PROGRESS
    with Session(engine) as session, session.begin():
        prompts[OF_JUDGES] = prompts_of_judges(session, before)
        records = old_records(session, before)
        if not dry_run:
            delete_old_records(session, before)
    _empty(engine, [] if dry_run else prompts[OF_JUDGES].call_ids)
    return Pruning(
        {name: one for name, one in prompts.items() if one.call_ids},
        whole,
        {name: others for name, others in shared.items() if others},
        records,
    )


def _empty(engine: Engine, call_ids: Sequence[int]) -> None:
    for start in range(0, len(call_ids), AT_ONCE):
        with Session(engine) as session, session.begin():
            empty_prompts(session, call_ids[start : start + AT_ONCE])


def _state(session: Session, sweep: str, *, locked: bool) -> str:
    """Return a sweep's state; `locked` if its locks are ours, so that they tell of no run."""
    status = sweep_status(session, sweep)
    at_work = is_in_progress(session, sweep) if locked else status.in_progress
    return IN_PROGRESS if at_work else status.state
