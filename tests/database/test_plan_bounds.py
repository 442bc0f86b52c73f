"""The upper bound of a plan, on sweeps of many shapes: what the ledger has in the end is below."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.sweep import load_sweep
from judge_gym.lab.planning import Plan, plan_sweep
from judge_gym.llm.providers import Price
from judge_gym.settings import settings
from judge_gym.store.spending import spending_scope, spent
from support.command_line import SWEEPS
from support.rig import providers_at, run
from support.study import TEXTS
from support.whole_sweep import whole_sweep

PRICE = Price(prompt=3, completion=15)
LEDGER = sa.text(
    "SELECT workflow, sum(prompt_tokens), sum(completion_tokens) FROM llm_calls GROUP BY 1"
)
PROSE = TEXTS[0].format(n=7) + " "
SIGNS = "§ 12.4 (a)—3,417.05 € / 98,7 %; x_1 = {…} #42 " * 9
SCRIPTS = "法院周一开庭,听取了两家报纸的申诉。 Суд заседал в понедельник и отложил решение. " * 6
SHORT: Sequence[str] = [PROSE] * 4
UNEVEN: Sequence[str] = [PROSE, PROSE * 2, PROSE, PROSE * 40, PROSE, PROSE, PROSE * 3]
HARD: Sequence[str] = [SIGNS, SCRIPTS, PROSE]
ACTORS = "name: rivals\nswap:\n  - [Valmora, The Democratic Federation of the Western Islands]\n"


@dataclass(frozen=True)
class Shape:
    """A sweep on a corpus of some texts; `replaces` are replacements in texts of its judges."""

    block: str
    top: str = ""
    texts: Sequence[str] = tuple(SHORT)
    environment: tuple[tuple[str, str], ...] = ()


SHAPES = {
    "own rubrics and probes": Shape("evidence_view: raw\n    replicates: 3"),
    "bundles of uneven documents": Shape(
        "evidence_view: raw\n    bundle_size: 3\n    scale_size: 5", texts=UNEVEN
    ),
    "views by a model": Shape(
        "evidence_view: [cleaned, abstracted]", texts=UNEVEN,
        environment=(("JUDGE_GYM_CLEANER", "llm"),),
    ),
    "probes in the conversation": Shape(
        "evidence_view: cleaned\n    probe_window: same\n    scoring_method: structured_json\n"
        "    reasoning_effort: [low, high]"
    ),
    "swaps and shams": Shape("evidence_view: raw\n    scale_size: [3, 7]", "swap: {pairs: all}\n"),
    "wordings, draws and forced sets": Shape(
        "evidence_view: raw\n    scoring_method: subset\n    abstain: false\n"
        "    wording: [standard, questions]",
        "rubric_draws: 2\n",
    ),
    "answers that are cut": Shape(
        f"evidence_view: raw\n    max_tokens: 16\n    rubric: {{provided: {SWEEPS}/rubrics/"
        "backsliding.yaml}\n    abstain: [true, false]"
    ),
    "signs and other scripts": Shape(
        "evidence_view: [raw, neutralized]", "score_critic: sim/high-1\n", texts=HARD
    ),
    "several methods under a shared rubric within a budget": Shape(
        "evidence_view: raw\n    scoring_method: [single, subset, structured_json]\n"
        "    rubric: {shared: sim/low-1}\n    probe_window: [fresh, same]",
        "budget: {max_calls: 100000, max_cost_usd: 5}\n",
    ),
    "bundles by embeddings": Shape(
        "evidence_view: raw\n    bundles:\n      - {by: similar, size: 2, embeddings: sim/low-1}\n"
        "      - {by: spread, size: 2, view: neutralized, embeddings: sim/low-1}",
        texts=UNEVEN,
    ),
    "rubrics and shams by embeddings": Shape(
        "evidence_view: raw\n    scale_size: [3, 7]",
        "rubric_embeddings: sim/low-1\nswap: {pairs: all, sham: true}\n",
    ),
    "other actors": Shape(
        "evidence_view: raw\n    actors: [as_found, {swapped: actors.yaml}]\n    bundle_size: 2"
    ),
}  # fmt: skip


def write_sweep(folder: Path, shape: Shape, source: str = "corpus") -> Path:
    """Write a sweep of two judges with its corpus; returns its file."""
    rows = (
        {"title": f"Report {number}", "text": text + f" No. {number}."}
        for number, text in enumerate(shape.texts)
    )
    (folder / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "actors.yaml").write_text(ACTORS)
    given = "{kind: firecrawl}" if source == "firecrawl" else "{kind: corpus, path: c.jsonl}"
    dates = "start: 2026-01-01, end: 2026-02-01, " if source == "firecrawl" else ""
    file = folder / "sweep.yaml"
    file.write_text(
        f"name: bounded\nutility_model: sim/calm-1\n{shape.top}windows:\n"
        f"  week: {{country: Valmora, query: courts, {dates}max_documents: 9, source: {given}}}\n"
        "defaults: {window: week, concept: democratic backsliding, replicates: 1}\n"
        f"blocks:\n  - model: [sim/high-1, sim/low-1]\n    {shape.block}\n"
    )
    return file


def planned(engine: sa.Engine, file: Path) -> Plan:
    with Session(engine) as session:
        return plan_sweep(session, load_sweep(file), providers_at("http://127.0.0.1:9/v1"))


@pytest.mark.parametrize("name", SHAPES)
def test_the_ledger_never_passes_the_upper_bound(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for key, value in SHAPES[name].environment:
        monkeypatch.setenv(key, value)
    settings.cache_clear()
    file = write_sweep(tmp_path, SHAPES[name])
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    plan = planned(engine, file)
    assert plan.is_bound
    assert not any("assumed" in sentence for sentence in plan.assumptions)

    run(whole_sweep(database, file, **dict(_settings(SHAPES[name]))))
    with Session(engine) as session:
        used = {workflow: (prompt, answer) for workflow, prompt, answer in session.execute(LEDGER)}
        made = spent(session, spending_scope(session, "bounded"))
    assert used.keys() <= {line.workflow for line in plan.lines}
    for workflow, (prompt, answer) in used.items():
        lines = [line for line in plan.lines if line.workflow == workflow]
        bound = [sum(getattr(line.whole, kind) for line in lines)
                 for kind in ("prompt_tokens", "answer_tokens")]  # fmt: skip
        assert prompt <= bound[0], workflow
        assert answer <= bound[1], workflow
        assert PRICE.cost_usd(prompt, answer) <= PRICE.cost_usd(*bound)
    assert made.calls <= sum(line.at_most for line in plan.lines)
    # What the run made is known now: the bound of a second plan holds, too.
    again = planned(engine, file)
    assert sum(line.whole.prompt_tokens for line in again.lines) >= sum(
        prompt for prompt, _ in used.values()
    )


def _settings(shape: Shape) -> list[tuple[str, str]]:
    return [(key.removeprefix("JUDGE_GYM_").lower(), value) for key, value in shape.environment]


def test_evidence_that_nobody_has_seen_is_assumed_and_gives_no_bound(
    database: str, tmp_path: Path
) -> None:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    plan = planned(engine, write_sweep(tmp_path, SHAPES["own rubrics and probes"], "firecrawl"))
    assert not plan.is_bound
    assert any("800 words" in sentence for sentence in plan.assumptions)


def test_what_is_expected_grows_with_the_texts_that_are_there(
    database: str, tmp_path: Path
) -> None:
    """18 times the text of one document in four: the mean text is 5.25 times as long."""
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    expected = {}
    for times in (1, 18):
        texts = [PROSE * 4] * 3 + [PROSE * 4 * times]
        plan = planned(engine, write_sweep(tmp_path, Shape("evidence_view: raw", texts=texts)))
        [line] = [line for line in plan.lines if line.workflow == "w3-scoring"]
        expected[times] = line.left.prompt_tokens / line.calls
    longer = len(PROSE * 4) * (21 / 4 - 1) / 4
    assert expected[18] - expected[1] == pytest.approx(longer, rel=0.02)
