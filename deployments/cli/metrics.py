"""Sweeps and installations as Prometheus reads them: text of version 0.0.4."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from judge_gym.lab.operating import Installation, Records
from judge_gym.lab.status import Status
from judge_gym.report.operating import PER_MINUTE

_STATES = (
    "finished", "in progress", "analysis pending", "waiting for batches", "not started",
    "cancelled", "stopped",
)  # fmt: skip


class _OfSweeps(Collector):
    def __init__(self, statuses: Iterable[Status]) -> None:
        self._statuses = tuple(statuses)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield one family of gauges after the other: their values are those of the moment."""
        state = _family("sweep_state", "1 for the state that the sweep is in.", "state")
        simulated = _family("sweep_simulated", "1 if the simulator answers: no evidence.")
        spent = [
            (_family("sweep_calls", "Calls made so far."), "calls"),
            (_family("sweep_calls_failed", "Calls that failed, of the sweep as it is."), "failed"),
            (_family("sweep_cost_usd", "Known cost so far, US dollars."), "cost_usd"),
            (_family("sweep_answers_unpriced", "Answers of unknown cost."), "unpriced"),
        ]
        done = _family("workflow_done", "Units that are done.", "workflow")
        total = _family("workflow_total", "Units in all, where known.", "workflow")
        failed = _family("workflow_failed", "Failures on record.", "workflow")
        batches = _family("workflow_in_batches", "Calls that wait in batches.", "workflow")
        in_flight = _family("provider_calls_in_flight", "Calls without an answer.", "provider")
        rate = _family("provider_calls_per_minute", PER_MINUTE, "provider")
        for status in self._statuses:
            for name in _STATES:
                state.add_metric([status.sweep, name], float(status.state == name))
            simulated.add_metric([status.sweep], float(status.simulated))
            for family, field in spent:
                family.add_metric([status.sweep], float(getattr(status.spent, field)))
            for part in status.workflows:
                labels = [status.sweep, part.workflow]
                done.add_metric(labels, part.done)
                failed.add_metric(labels, part.failed)
                batches.add_metric(labels, part.wait_in_batches)
                if part.total is not None:
                    total.add_metric(labels, part.total)
            for provider in status.providers:
                in_flight.add_metric([status.sweep, provider.provider], provider.in_flight)
                rate.add_metric([status.sweep, provider.provider], provider.per_minute)
        yield from (state, simulated)
        yield from (family for family, _ in spent)
        yield from (done, total, failed, batches, in_flight, rate)


class _OfInstallation(Collector):
    """Gauges of an installation: those of a part that is away are left out."""

    def __init__(self, found: Installation) -> None:
        self._found = found

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield one family of gauges after the other."""
        found = self._found
        yield _gauge("info", "The version.", {(found.version,): 1}, "version")
        parts = {(part.name,): float(part.healthy) for part in found.parts}
        yield _gauge("part_up", "1 if the part answers.", parts, "part")
        names = ("worker", "pool")
        online = {(one.name, one.pool): float(one.online) for one in found.workers}
        yield _gauge("worker_online", "1 if its heartbeats come.", online, *names)
        ages = {
            (one.name, one.pool): (found.at - one.last_heartbeat).total_seconds()
            for one in found.workers
            if one.last_heartbeat
        }
        yield _gauge("worker_heartbeat_age_seconds", "Age of its last heartbeat.", ages, *names)
        if backlog := found.backlog:
            runs = {
                ("running",): backlog.running,
                ("waiting",): backlog.waiting,
                ("late",): backlog.late,
                ("suspended",): backlog.suspended,
            }
            yield _gauge("flow_runs", "Flow runs by state; late ones wait, too.", runs, "state")
            since = {
                (one.flow, one.run, one.id, one.state): (found.at - one.since).total_seconds()
                for one in found.runs
            }
            of_run = ("flow", "run", "id", "state")
            yield _gauge("flow_run_state_seconds", "Time in its state.", since, *of_run)
            waits = {(): backlog.oldest_wait_s}
            yield _gauge("oldest_wait_seconds", "How long a flow run has waited to begin.", waits)
            failed = {(): len(found.failed_runs)}
            yield _gauge("flow_runs_failed_last_day", "Flow runs that failed or crashed.", failed)
        if found.records:
            yield from self._of_records(found.records)

    def _of_records(self, records: Records) -> Iterator[GaugeMetricFamily]:
        batches = records.batches
        yield _gauge("batches_open", "Batches at providers.", {(): batches.batches})
        yield _gauge("batch_calls_waiting", "Calls in open batches.", {(): batches.calls})
        oldest = (self._found.at - batches.oldest).total_seconds() if batches.oldest else 0.0
        yield _gauge("oldest_batch_seconds", "Age of the oldest open batch.", {(): oldest})
        rates = {(one.provider,): one.per_minute for one in records.providers}
        yield _gauge("calls_per_minute", PER_MINUTE, rates, "provider")
        out = {(one.provider,): one.in_flight for one in records.providers}
        yield _gauge("calls_in_flight", "Calls without an answer.", out, "provider")
        times = {"today": records.today, "7d": records.week}
        usd = {(name,): one.cost_usd for name, one in times.items()}
        yield _gauge("spent_usd", "Cost of real models at most, US dollars.", usd, "time")
        sent = {(name,): one.calls for name, one in times.items()}
        yield _gauge("calls_sent", "Calls sent to real models.", sent, "time")
        costs = {(one.sweep,): one.spent.bound_usd for one in records.studies}
        yield _gauge("study_cost_usd", "Cost of a sweep at most, US dollars.", costs, "sweep")
        left = {(one.sweep,): one.left_usd for one in records.studies if one.left_usd is not None}
        yield _gauge("study_budget_left_usd", "Left of its budget, US dollars.", left, "sweep")
        failed = {(one.provider, one.model, one.kind): one.calls for one in records.failed_calls}
        labels = ("provider", "model", "kind")
        yield _gauge("calls_failed_last_day", "Calls that failed.", failed, *labels)


def installation_text(found: Installation) -> str:
    """Return the gauges of an installation."""
    registry = CollectorRegistry()
    registry.register(_OfInstallation(found))
    return _shortened(generate_latest(registry).decode())


_VALUE = re.compile(r"^(judge_gym_(\w+).* )(\S+)$", re.MULTILINE)


def _shortened(text: str) -> str:
    """Return gauges with two decimals at most, dollars with six, and none of whole numbers."""

    def short(found: re.Match[str]) -> str:
        value = round(float(found[3]), 6 if "usd" in found[2] else 2)
        return f"{found[1]}{int(value) if value.is_integer() else value}"

    return _VALUE.sub(short, text)


def _gauge(name: str, said: str, values: Mapping[Any, float], *labels: str) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"judge_gym_{name}", said, labels=labels)
    for names, value in values.items():
        family.add_metric(names, value)
    return family


def metrics_text(statuses: Iterable[Status]) -> str:
    """Return the gauges of some sweeps, each labelled with its sweep."""
    registry = CollectorRegistry()
    registry.register(_OfSweeps(statuses))
    return _shortened(generate_latest(registry).decode())


def _family(name: str, said: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"judge_gym_{name}", said, labels=["sweep", *labels])
