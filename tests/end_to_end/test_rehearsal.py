"""The README's rehearsal: the simulator in place of both the provider and the news service."""

from collections.abc import Iterator

import pytest

from judge_gym.simulator.launch import running
from support.command_line import SWEEPS, CommandLine, sweep_text
from support.figures import value_of
from support.simulation import Simulator


@pytest.fixture(scope="module")
def with_news() -> Iterator[Simulator]:
    with running(news=SWEEPS / "corpora" / "valmora.jsonl") as url:
        yield Simulator(url)


@pytest.mark.slow
def test_real_models_are_rehearsed_with_news_and_go_on_after_a_failure(
    command: CommandLine, database: str, with_news: Simulator
) -> None:
    file = command.folder / "my-sweep.yaml"
    file.write_text(
        sweep_text(
            "real-models.yaml",
            ("max_documents: 8", "max_documents: 3"),
            ("replicates: 5", "replicates: 1"),
        )
    )
    stand_ins = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": with_news.url,
        "JUDGE_GYM_FIRECRAWL_URL": with_news.url.removesuffix("/v1"),
    }
    with_news.use_faults({"kind": "payment_required"})
    ended = command("sweep", "run", file, **stand_ins)
    assert ended.code == 1
    assert "Firecrawl's credits are used up (402). Add credits" in " ".join(ended.errors.split())
    assert value_of(database, "SELECT count(*) FROM windows WHERE collected_at IS NOT NULL") == 0
    assert value_of(database, "SELECT count(*) FROM llm_calls") == 0

    with_news.use_faults()
    ended = command("sweep", "run", file, **stand_ins).fine()
    assert "SIMULATED" in ended.output
    assert value_of(database, "SELECT bool_and(simulated) FROM documents") is True
    assert value_of(database, "SELECT count(*) FROM samples WHERE status = 'scored'") > 0
    dates = "SELECT bool_and(published BETWEEN '2025-10-01' AND '2025-10-14') FROM documents"
    assert value_of(database, dates) is True
    shown = command("evidence", "show", "1", **stand_ins).fine()
    assert "(SIMULATED)" in shown.output
