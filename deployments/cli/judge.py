"""`judge-gym judge check` and `judge score`: validate a judge for products and use it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.json_output import json_output
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
    errors,
    marked,
    say_simulated,
    show_note,
    show_table,
)
from deployments.cli.parts_done import report_judging
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError, did_you_mean
from judge_gym.writable import check_writable

if TYPE_CHECKING:
    from judge_gym.judges import AnyJudge, Item, Judge, JudgeResult, ModelJudge
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.judges.conversation_items import ConversationItems
    from judge_gym.judges.delegated import DelegatedJudge
    from judge_gym.judges.item_files import ItemFile
    from judge_gym.judges.own_judges import OwnJudge
    from judge_gym.judges.scored_items import ScoredItems
    from judge_gym.report.table import Table

_MOST_NAMED = 5


def check(
    file: JudgeFile,
    items: Annotated[
        Path | None,
        typer.Option(
            help="Items (JSONL or CSV): shows the prompt of the first one and counts the calls.",
            show_default="a stand-in",
        ),
    ] = None,
    item: Annotated[
        str, typer.Option(help="The id of the item to show.", show_default="the first")
    ] = "",
    repeats: Repeats = 1,
    fields: Fields = None,
) -> None:
    """Validate a judge file and show its prompts without calling a model.

    Imports the function of a judge of kind callable. Reads the texts and labels of its gate.
    """
    import asyncio

    from judge_gym.judges import ModelJudge, load_judge, read_item_file
    from judge_gym.judges.delegated import DelegatedJudge
    from judge_gym.judges.own_judges import OwnJudge

    judge = load_judge(file)
    columns = fields_of(items, fields)
    read = read_item_file(items, columns) if items else None
    if read:
        read.check([judge])
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
    items: Annotated[Path, typer.Option(help="Items to judge (JSONL or CSV).", show_default=False)],
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
    from deployments.cli.environment import database
    from deployments.cli.estimates import agreed
    from judge_gym.answers.readability import too_few_readable
    from judge_gym.judges.calibrating.judging import Asked, readable_of
    from judge_gym.judges.scored_items import scored_items
    from judge_gym.report.scores import save_scores, scores_json
    from judge_gym.settings import settings

    _check_export(export)
    check_writable("--export", export)
    judge, read = judge_and_items(file, items, fields, labels, label_fields)
    asked = [Asked(judge, read.items, repeats)]
    planned = asked + expected_critics([judge], read.items, repeats)
    if not agreed(f"Estimate for {judge.name}", planned, plan_only=plan, yes=yes):
        return
    report_judging(asked)
    results = judged(
        judge, read.items, repeats=repeats, concurrency=concurrency, retry_failed=retry_failed
    )
    stopped = _criticised(judge, results, retry_failed=retry_failed)
    with database() as session:
        scored = scored_items(session, judge, read, results)
    if export is not None:
        said = _export(export, judge, results, read.conversations)
    page = save_scores(scored, settings().reports_dir).path
    if as_json:
        json_output.give(scores_json(scored))
    else:
        _show(scored)
        console.plain(f"Page: {page}")
    if export is not None:
        console.plain(said)
    show_note(scored.by)
    if stopped:
        raise stopped
    if error := too_few_readable([readable_of(judge, results)]):
        raise error


_EXPORTS = (".csv", ".json", ".jsonl")


def _check_export(file: Path | None) -> None:
    if file is not None and file.suffix not in _EXPORTS:
        raise ConfigError(
            f"--export is {file}, which ends in {file.suffix!r}.",
            f"Name a file that ends in {' or '.join(_EXPORTS)}.",
        )


def _export(
    file: Path, judge: "AnyJudge", results: Sequence["JudgeResult"], items: "ConversationItems"
) -> str:
    """Write scores: as CSV, or as evaluation events in a line of OTLP JSON; say what was."""
    import json
    from datetime import UTC, datetime

    from judge_gym.judges.otlp import evaluation_events
    from judge_gym.judges.sessions import exported_said, score_rows, session_rows
    from judge_gym.report.files import csv_of, put_in_place

    own, of_sessions = score_rows(judge, results, items), session_rows(judge, results, items)
    rows = own + of_sessions
    if file.suffix == ".csv":
        text = csv_of(rows)
    else:
        text = json.dumps(evaluation_events(rows, datetime.now(UTC)), ensure_ascii=False) + "\n"
    put_in_place({file: text})
    return f"{exported_said(own, of_sessions)} Written to {file}."


def judge_and_items(
    file: Path,
    items: Path,
    fields: list[str] | None,
    labels: Path | None,
    label_fields: list[str] | None,
) -> "tuple[AnyJudge, ItemFile]":
    """Return a judge and the items that it is to judge, with their labels; prints what was read."""
    from judge_gym.judges import load_judge
    from judge_gym.judges.item_files import read_judged_items

    judge = load_judge(file)
    columns = fields_of(items, fields), label_fields_of(labels, label_fields)
    read = read_judged_items([judge], items, columns[0], labels, columns[1])
    console.plain(read.said(judge))
    return judge, read


def expected_critics(
    judges: "Sequence[Judge]", items: "Sequence[Item]", repeats: int
) -> "list[Asked]":
    """Return what critics are expected to read; writes nothing."""
    from sqlalchemy.orm import Session

    from deployments.cli.environment import database_engine
    from judge_gym.judges.calibrating.judging import criticisms
    from judge_gym.judges.reason_critic import critic_of

    if not any(map(critic_of, judges)):
        return []
    with database_engine() as engine, Session(engine) as session:  # rolled back at its end
        return criticisms(session, judges, items, repeats, expected=True)


def judged(judge: "AnyJudge", items: "Sequence[Item]", **options: Any) -> "list[JudgeResult]":
    """Judge the items and wait for the results; `options` as in `ascore_batch`."""
    import asyncio

    from deployments.cli.environment import prepare_environment, simulator_for

    prepare_environment()
    with (
        simulator_for(judge.answerers),
        errors.status(f"Judging {counted(len(items), 'item')}."),
    ):
        return asyncio.run(judge.ascore_batch(items, **options))


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


def _criticised(
    judge: "AnyJudge", results: Sequence["JudgeResult"], *, retry_failed: bool
) -> JudgeGymError | None:
    """Have the judge's critic read its reasons; return what stopped it.

    That is raised after the judgements are shown.
    """
    from judge_gym.judges.reason_critic import critic_of, reasons_of
    from judge_gym.records.items import distinct

    critic = critic_of(judge)
    texts = distinct([item for _, item in reasons_of(judge, results)])
    try:
        if critic is not None and texts:
            judged(critic, texts, retry_failed=retry_failed)
    except JudgeGymError as error:
        return error
    return None


def _show(scored: "ScoredItems") -> None:
    from judge_gym.report.scores import found_said, sentences, tables_of

    results = scored.results
    found = f"{marked(scored.judge.name, simulated=scored.simulated)}: {found_said(scored)}"
    console.plain(found)
    for table in tables_of(scored):
        _show_table(scored, table)
    for sentence in sentences(scored):
        console.plain(sentence)
    if scored.simulated:
        say_simulated()
    if any(result.status == "failed" or result.is_empty for result in results):
        console.print(
            f"Retry failed and empty judgements with `{command()} judge score … --retry-failed`."
        )


def _show_table(scored: "ScoredItems", table: "Table") -> None:
    show_table(
        marked(table.title, simulated=scored.simulated),
        table.columns,
        [row.cells for row in table.rows],
    )
