"""The status of sweeps as Prometheus reads it: text of version 0.0.4, for a textfile collector."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from judge_gym.lab.status import Status

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
        rate = _family("provider_calls_per_minute", "Calls ended per minute lately.", "provider")
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


def metrics_text(statuses: Iterable[Status]) -> str:
    """Return the gauges of some sweeps, each labelled with its sweep."""
    registry = CollectorRegistry()
    registry.register(_OfSweeps(statuses))
    return generate_latest(registry).decode()


def _family(name: str, said: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"judge_gym_{name}", said, labels=["sweep", *labels])
