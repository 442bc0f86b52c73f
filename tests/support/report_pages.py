"""Reports made by hand, for tests of pages and of what the terminal prints."""

from datetime import UTC, datetime

from judge_gym.report.cases import Cases
from judge_gym.report.facts import Facts
from judge_gym.report.page import Report
from judge_gym.report.planted import Planted
from judge_gym.report.summary import Summary
from judge_gym.report.table import Table
from judge_gym.store.results import RunInfo

NOW = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)


def empty(title: str) -> Table:
    return Table(title, "What it says.", ("name", "count"), ())


def report(
    *, simulated: bool = False, sweep: str = "trial", results: tuple[Table, ...] = ()
) -> Report:
    run = RunInfo(7, sweep, "0.1.0", simulated, NOW)
    tables = map(empty, ("Experiments", "Windows", "LLM calls", "In short"))
    return Report(
        facts=Facts(run, "A trial.", ("acme/a-1",), *tables, (), ()),
        summary=Summary("1 experiment, 1 judge, 2 documents", "", "2 calls", (), ()),
        sentences=(),
        largest=(),
        findings=empty("Findings one by one"),
        results=results,
        figures=(),
        planted=Planted(),
        cases=Cases(),
        evidence=(),
        csv="a,b\r\n",
        wholly_simulated=simulated,
        imported=0.0,
        written=NOW,
    )
