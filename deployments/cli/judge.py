"""`judge-gym judge check` and `judge score`: validate a judge for products and use it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.options import (
    AsJson,
    Fields,
    JudgeFile,
    LabelFields,
    Labels,
    PlanOnly,
    Repeats,
    RetryFailed,
    Yes,
    fields_of,
    label_fields_of,
)
from deployments.cli.output import (
    command,
    console,
)
from deployments.cli.study import StudyCommand
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.writable import check_writable

if TYPE_CHECKING:
    from judge_gym.judges import AnyJudge, Item, ModelJudge
    from judge_gym.judges.delegated import DelegatedJudge
    from judge_gym.judges.own_judges import OwnJudge
    from judge_gym.judges.scored_items import ScoredItems

_MOST_NAMED = 5


def check(
    file: JudgeFile,
    items: Annotated[
        Path | None,
        typer.Option(
            help="Items (CSV, Excel, JSON, JSONL): show the first prompt, count the calls.",
            show_default="a stand-in",
        ),
    ] = None,
    item: Annotated[
        str, typer.Option(help="The id of the item to show.", show_default="the first")
    ] = "",
    repeats: Repeats = 1,
    fields: Fields = None,
    labels: Labels = None,
    label_fields: LabelFields = None,
) -> None:
    """Validate a judge file and show its prompts without calling a model.

    Imports the function of a judge of kind callable. Reads the texts and labels of its gate.
    """
    import asyncio

    from judge_gym.judges import ModelJudge, load_judge
    from judge_gym.judges.delegated import DelegatedJudge
    from judge_gym.judges.item_files import read_judged_items
    from judge_gym.judges.own_judges import OwnJudge

    judge = load_judge(file)
    columns = fields_of(items, fields), label_fields_of(labels, label_fields)
    if labels and not items:
        raise ConfigError("--labels is given without --items.", "Name the items that they are of.")
    read = read_judged_items([judge], items, columns[0], labels, columns[1]) if items else None
    for leaf in judge.leaves:
        if isinstance(leaf, OwnJudge):
            asyncio.run(_open(leaf))
    gate = None
    if judge.gate is not None:  # errors in any file are raised before the first line
        from judge_gym.judges.gate_texts import read_gate

        gate = read_gate(judge)
    texts = read.texts if read else (_stand_in(judge),)
    one = _chosen(read.items if read else texts, item)
    console.print(f"Judge {judge.name}: {judge.kind} by {judge.answered_by}, key {judge.key}.")
    for leaf in judge.leaves:
        if leaf is not judge:
            console.print(f"\nMember {leaf.name}: {leaf.kind} by {leaf.answered_by}.", markup=False)
        if isinstance(leaf, ModelJudge | DelegatedJudge):
            _show_prompts(leaf, one)
        elif isinstance(leaf, OwnJudge):
            _show_input(leaf, one)
    if read:
        console.plain(read.said(judge))
        console.print(_amount(judge, len(texts) * repeats), markup=False)
    if gate is not None:
        console.plain(f"Gate on {gate.rule.items}. {gate.said()}")


def score(
    file: JudgeFile,
    items: Annotated[
        Path, typer.Option(help="Items to judge (CSV, Excel, JSON, JSONL).", show_default=False)
    ],
    repeats: Repeats = 1,
    concurrency: Annotated[int, typer.Option(help="Judgements in parallel.", min=1, max=1000)] = 8,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
    fields: Fields = None,
    labels: Labels = None,
    label_fields: LabelFields = None,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write the scores by trace and span: .csv, or .json as OTLP.", show_default=False
        ),
    ] = None,
    plan: PlanOnly = False,
    yes: Yes = False,
) -> None:
    """Judge items and show scores and agreement with labels.

    Stored judgements are reused. At a terminal it asks before it makes calls to a real model.
    Exits with code 1 if fewer than half the answers are readable.
    """
    from judge_gym.studies import score as studies

    _check_export(export)
    check_writable("--export", export)
    columns = fields_of(items, fields), label_fields_of(labels, label_fields)
    study = studies.score(file, items, repeats, labels, *columns)
    options = StudyCommand([file], plan, retry_failed, as_json, yes, concurrency)
    if (ended := options.run(study)) is None:
        return
    scored = ended.report.of
    if any(result.status == "failed" or result.is_empty for result in scored.results):
        again = f"{command()} judge score … --retry-failed"
        console.print(f"Retry failed and empty judgements with `{again}`.")
    if export is not None:
        console.plain(_export(export, scored))
    ended.exit()


_EXPORTS = (".csv", ".json", ".jsonl")


def _check_export(file: Path | None) -> None:
    if file is not None and file.suffix not in _EXPORTS:
        raise ConfigError(
            f"--export is {file}, which ends in {file.suffix!r}.",
            f"Name a file that ends in {' or '.join(_EXPORTS)}.",
        )


def _export(file: Path, scored: "ScoredItems") -> str:
    """Write scores: as CSV, or as evaluation events in a line of OTLP JSON; say what was."""
    from datetime import UTC, datetime

    from judge_gym.judges.otlp import evaluation_events
    from judge_gym.judges.sessions import exported_said, score_rows, session_rows
    from judge_gym.report.files import csv_of, put_in_place

    given = scored.judge, scored.results, scored.file.conversations
    own, of_sessions = score_rows(*given), session_rows(*given)
    rows = own + of_sessions
    if file.suffix == ".csv":
        text = csv_of(rows)
    else:
        text = json.dumps(evaluation_events(rows, datetime.now(UTC)), ensure_ascii=False) + "\n"
    put_in_place({file: text})
    return f"{exported_said(own, of_sessions)} Written to {file}."


async def _open(judge: "OwnJudge") -> None:
    async with judge.opened():
        pass


def _stand_in(judge: "AnyJudge") -> "Item":
    from judge_gym.judges import Item

    second = "(the second text)" if judge.judges_pairs else None
    return Item(id="stand-in", text="(the text)", second=second)


def _show_prompts(judge: "ModelJudge | DelegatedJudge", item: "Item") -> None:
    from judge_gym.judges import ModelJudge
    from judge_gym.settings import settings

    for number, prompt in enumerate(judge.prompts(item, f"judge/{judge.key}/{item.key}/0"), 1):
        for message in prompt.messages:
            console.print(f"\n[bold]Prompt {number}, {message['role']}[/]")
            console.plain(message["content"])
    if not isinstance(judge, ModelJudge):
        return
    from judge_gym.llm.pricing import price_of
    from judge_gym.llm.providers import load_providers

    price = price_of(load_providers(settings().providers_file), judge.model)
    shown = "unknown" if price is None else f"{price.prompt:g} / {price.completion:g} USD"
    console.print(
        f"\nTemperature {judge.temperature:g}, top_p {judge.top_p:g}, answers of at most "
        f"{judge.max_tokens} tokens. Price per million tokens (prompt / answer): {shown}.",
        markup=False,
    )


def _chosen(items: Sequence["Item"], name: str) -> "Item":
    """Return the item with this id, or the first without one; raises `ConfigError`."""
    found = next((item for item in items if name in ("", item.id)), None)
    if found is None:
        ids = [one.id for one in items]
        raise ConfigError(
            f"--item is {name!r}, and no item has this id.",
            f"{did_you_mean(name, ids)}The first ids are {', '.join(ids[:_MOST_NAMED])}.",
        )
    return found


def _show_input(judge: "OwnJudge", item: "Item") -> None:
    given = {"id": item.id, "text": item.text, "context": item.context, "repeat": 0}
    console.plain(f"Input: {json.dumps(given, ensure_ascii=False)}")
    console.plain(f"It may return {judge.scale.allowed}, or that as `score` of an object.")


def _amount(judge: "AnyJudge", judgements: int) -> str:
    calls = judgements * sum(leaf.calls_per_item for leaf in judge.leaves)
    if not calls:
        return f"{counted(judgements, 'judgement')}."
    at_most = "at most " if judge.kind == "routed" else ""
    return (
        f"{counted(judgements, 'judgement')}: {at_most}{counted(calls, 'call')}, "
        "and one more for each unparseable answer. Stored judgements are reused."
    )
