"""`judge-gym judge check` and `judge score`: validate a judge for products and use it."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.json_output import json_output, report_judging
from deployments.cli.options import (
    AsJson,
    Fields,
    LabelFields,
    Labels,
    PlanOnly,
    RetryFailed,
    Yes,
    fields_of,
    labels_of,
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
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError, did_you_mean

if TYPE_CHECKING:
    from judge_gym.judges import AnyJudge, Item, Judge, JudgeResult, ModelJudge
    from judge_gym.judges.calibrating.comparing import Agreement, PartScores
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.judges.delegated import DelegatedJudge
    from judge_gym.judges.item_files import ItemFile
    from judge_gym.judges.own_judges import OwnJudge
    from judge_gym.judges.reason_critic import Criticism
    from judge_gym.judges.sessions import SessionScore
    from judge_gym.model_names import Answered

_File = Annotated[Path, typer.Argument(help="The judge file (YAML).", show_default=False)]
_LONGEST_CELL = 90
_MOST_NAMED = 5


def check(
    file: _File,
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
    repeats: Annotated[int, typer.Option(help="Judgements per item.", min=1)] = 1,
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
        console.print(read.said(judge), markup=False, soft_wrap=True)
        console.print(_amount(judge, len(texts) * repeats), markup=False)
    if gate is not None:
        console.print(f"Gate on {gate.rule.items}. {gate.said()}", markup=False, soft_wrap=True)


def score(
    file: _File,
    items: Annotated[Path, typer.Option(help="Items to judge (JSONL or CSV).", show_default=False)],
    repeats: Annotated[int, typer.Option(help="Judgements per item.", min=1)] = 1,
    concurrency: Annotated[int, typer.Option(help="Judgements in parallel.", min=1, max=1000)] = 8,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
    fields: Fields = None,
    labels: Labels = None,
    label_fields: LabelFields = None,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the scores as CSV, by trace and span.", show_default=False),
    ] = None,
    plan: PlanOnly = False,
    yes: Yes = False,
) -> None:
    """Judge items and show scores and agreement with labels.

    Stored judgements are reused. At a terminal it asks before it makes calls to a real model.
    Exits with code 1 if fewer than half the answers are readable.
    """
    from deployments.cli.estimates import agreed
    from judge_gym.answers.readability import too_few_readable
    from judge_gym.judges.calibrating.judging import Asked, readable_of
    from judge_gym.judges.sessions import score_rows
    from judge_gym.report.files import csv_of, put_in_place

    judge, read = judge_and_items(file, items, fields, labels, label_fields)
    asked = [Asked(judge, read.items, repeats)]
    planned = asked + expected_critics([judge], read.items, repeats)
    if not agreed(f"Estimate for {judge.name}", planned, plan_only=plan, yes=yes):
        return
    report_judging(asked)
    results = judged(
        judge, read.items, repeats=repeats, concurrency=concurrency, retry_failed=retry_failed
    )
    scored, stopped = _scored_items(judge, read, results)
    if export is not None:
        put_in_place({export: csv_of(score_rows(judge, results, read.conversations))})
    if as_json:
        json_output.give(_scored_json(scored, read))
    else:
        _show(scored)
    show_note(scored.by)
    if stopped:
        raise stopped
    if error := too_few_readable([readable_of(judge, results)]):
        raise error


def judge_and_items(
    file: Path,
    items: Path,
    fields: list[str] | None,
    labels: Path | None,
    label_fields: list[str] | None,
) -> "tuple[AnyJudge, ItemFile]":
    """Return a judge and the items that it is to judge, with their labels; prints what was read."""
    from judge_gym.judges import load_judge, read_item_file

    judge = load_judge(file)
    read = read_item_file(items, fields_of(items, fields))
    read = read.with_labels(labels_of(labels, label_fields), [judge])
    read.check([judge])
    console.print(read.said(judge), markup=False, soft_wrap=True)
    return judge, read


def expected_critics(
    judges: "Sequence[Judge]", items: "Sequence[Item]", repeats: int
) -> "list[Asked]":
    """Return what critics are expected to read; writes nothing."""
    from sqlalchemy.orm import Session

    from deployments.cli.environment import database_engine
    from judge_gym.judges.calibrating.judging import expected_criticisms
    from judge_gym.judges.reason_critic import critic_of

    if not any(map(critic_of, judges)):
        return []
    with database_engine() as engine, Session(engine) as session:  # rolled back at its end
        return expected_criticisms(session, judges, items, repeats)


@dataclass(frozen=True)
class _ScoredItems:
    """Results of a judge, what they cost, and what its labels and its critic say of them."""

    judge: "AnyJudge"
    results: "Sequence[JudgeResult]"
    by: "Answered"
    cost: dict[str, Any]
    labelled: "Agreement"
    parts: "Sequence[PartScores]"
    sessions: "Sequence[SessionScore]"
    critic: "Criticism | None"
    paid: dict[str, Any]
    """What the critic cost."""

    @property
    def contradictions(self) -> "list[tuple[JudgeResult, str, str]]":
        """The judgements whose reason contradicts them: why, and whether a rule found it."""
        ruled = [
            (result, why, "rule")
            for result in self.results
            if (why := self.judge.contradiction(result))
        ]
        read = self.critic.contradictions if self.critic else ()
        return [*ruled, *((result, why, "model") for result, why in read)]


def _scored_items(
    judge: "AnyJudge", read: "ItemFile", results: "Sequence[JudgeResult]"
) -> tuple[_ScoredItems, JudgeGymError | None]:
    """Return what there is to show of results, and what stopped the judge's critic."""
    from judge_gym.judges.calibrating.comparing import agreement, by_part
    from judge_gym.judges.sessions import session_scores

    critic, paid, stopped = _criticised(judge, results)
    cost, by = _ledger_of(judge, results)
    labelled = agreement(judge, read.answers, results)
    sessions = session_scores(results, read.conversations.sessions)
    parts = by_part(judge, read, results)
    scored = _ScoredItems(judge, results, by, cost, labelled, parts, sessions, critic, paid)
    return scored, stopped


def _scored_json(scored: _ScoredItems, read: "ItemFile") -> dict[str, Any]:
    critic = scored.critic
    return {
        "name": scored.judge.name,
        **scored.cost,
        "served_models": scored.by.served,
        "contradictions": [
            {"item": result.item, "repeat": result.repeat, "why": why, "found_by": by_whom}
            for result, why, by_whom in scored.contradictions
        ],
        "reason_critic": critic
        and {
            "model": critic.model,
            "asked": critic.asked,
            "read": critic.read,
            **scored.paid,
        },
        "labels": {
            "column": read.label_column,
            "annotators": dict(read.labels.annotators) if read.labels else {},
            **asdict(scored.labelled),
        },
        "systems": [asdict(one) for one in scored.parts],
        "sessions": [asdict(one) for one in scored.sessions],
        "results": [result.model_dump(mode="json") for result in scored.results],
    }


def judged(judge: "AnyJudge", items: "Sequence[Item]", **options: Any) -> "list[JudgeResult]":
    """Judge the items and wait for the results; `options` as in `ascore_batch`."""
    import asyncio

    from deployments.cli.environment import prepare_environment, simulator_for
    from judge_gym.settings import settings

    prepare_environment(settings().data_dir, verbose=False)
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
            console.print(message["content"], markup=False, soft_wrap=True)
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
    console.print(f"Input: {json.dumps(given, ensure_ascii=False)}", markup=False, soft_wrap=True)
    console.print(
        f"It may return {judge.scale.allowed}, or that as `score` of an object.",
        markup=False,
        soft_wrap=True,
    )


def _amount(judge: "AnyJudge", judgements: int) -> str:
    calls = judgements * sum(leaf.calls_per_item for leaf in judge.leaves)
    if not calls:
        return f"{counted(judgements, 'judgement')}."
    at_most = "at most " if judge.kind == "routed" else ""
    return (
        f"{counted(judgements, 'judgement')}: {at_most}{counted(calls, 'call')}, "
        "and one more for each unparseable answer. Stored judgements are reused."
    )


def _ledger_of(
    judge: "AnyJudge", results: Sequence["JudgeResult"]
) -> tuple[dict[str, Any], "Answered"]:
    """Return what the calls behind the results cost, and who answered them."""
    from deployments.cli.environment import database
    from judge_gym.store.calls import cost_of, unread_of
    from judge_gym.store.judges import answered

    # Items with the same text share a judgement and its calls.
    calls = list(dict.fromkeys(call for result in results for call in result.call_ids))
    with database() as session:
        paid = cost_of(session, calls)
        unread = unread_of(session, calls)
        by = answered(session, judge.record, [results])
    cost = {
        "calls": len(calls),
        "cost_usd": paid.usd,
        "unpriced_calls": paid.unknown,
        "at_most_usd": paid.usd + paid.at_most_usd,
        "cost": str(paid),
        "unread": [str(one) for one in unread],
    }
    return cost, by


def _criticised(
    judge: "AnyJudge", results: Sequence["JudgeResult"]
) -> "tuple[Criticism | None, dict[str, Any], JudgeGymError | None]":
    """Have the judge's critic read its reasons; return what it said, its cost and what stopped it.

    What stops it is raised after the judgements are shown.
    """
    from judge_gym.judges.reason_critic import critic_of, criticism, reasons_of
    from judge_gym.records.items import distinct

    critic = critic_of(judge)
    if critic is None:
        return None, {}, None
    texts = distinct([item for _, item in reasons_of(judge, results)])
    answers: list[JudgeResult] = []
    stopped = None
    try:
        answers = judged(critic, texts) if texts else []
    except JudgeGymError as error:
        stopped = error
    said = {answer.item_key: [answer] for answer in answers}
    return criticism(judge, results, said), _ledger_of(critic, answers)[0], stopped


def _show_sessions(sessions: "Sequence[SessionScore]") -> None:
    """Show the scores of sessions whose turns were judged."""
    from judge_gym.judges.sessions import STATED

    if sessions:
        rows = [
            (one.session, one.turns, one.scored, _number(one.mean), _number(one.lowest))
            for one in sessions
        ]
        show_table("Sessions", ("session", "turns", "scored", "mean", "lowest"), rows)
        console.print(f"{STATED}.", markup=False)


def _show_parts(judge: "AnyJudge", parts: "Sequence[PartScores]", *, simulated: bool) -> None:
    """Show the scores and the agreement with labels of each system."""
    from judge_gym.calibration.verdict import statistic

    if parts:
        rows = [
            (part.system, part.rows, part.scored, _number(part.mean), *part.labelled.cells)
            for part in parts
        ]
        named = statistic(verdicts=judge.decides)
        columns = ("system", "rows", "scored", "mean score", "labelled", "as labelled", named)
        show_table(marked("By system", simulated=simulated), columns, rows)


def _show(scored: _ScoredItems) -> None:
    judge, results, critic = scored.judge, scored.results, scored.critic
    simulated = any(result.simulated for result in results)
    _show_results(marked(f"{judge.name}, {scored.by}", simulated=simulated), judge, results)
    ends = Counter(result.status for result in results)
    counts = ", ".join(f"{count} {status}" for status, count in ends.most_common())
    console.print(
        f"{counted(len(results), 'judgement')}: {counts}. {_paid(judge, scored.cost)}", markup=False
    )
    for unread in scored.cost["unread"]:
        console.print(unread, markup=False, soft_wrap=True)
    _show_contradictions(scored)
    if critic:
        read = f"Reasons read: {critic}. {_paid(judge, scored.paid)}"
        console.print(read, markup=False, soft_wrap=True)
    if simulated:
        say_simulated()
    if ends["failed"] or any(result.is_empty for result in results):
        console.print(
            f"Retry failed and empty judgements with `{command()} judge score … --retry-failed`."
        )
    _show_sessions(scored.sessions)
    _show_parts(judge, scored.parts, simulated=simulated)
    if scored.labelled.labels:
        console.print(str(scored.labelled), markup=False, soft_wrap=True)


def _show_results(title: str, judge: "AnyJudge", results: "Sequence[JudgeResult]") -> None:
    """Print a line for each result, with the columns that any of them has."""
    repeated = any(result.repeat for result in results)
    decides = bool(judge.verdict_scores) or any(result.verdict for result in results)
    parts = list(dict.fromkeys(name for result in results for name in result.subscores))
    rows = [
        (
            result.item,
            *((result.repeat,) if repeated else ()),
            result.status,
            _number(result.score),
            *(_number(result.subscores.get(part)) for part in parts),
            *((result.verdict or "",) if decides else ()),
            (result.failure or result.reason)[:_LONGEST_CELL],
        )
        for result in results
    ]
    columns = (
        "item",
        *(("repeat",) if repeated else ()),
        "status",
        "score",
        *parts,
        *(("verdict",) if decides else ()),
        "reason",
    )
    show_table(title, columns, rows)


def _show_contradictions(scored: _ScoredItems) -> None:
    """Print which reasons contradict their score, by what found it."""
    for found_by in ("rule", "model"):
        contradicted = [
            f"{result.item} ({why})"
            for result, why, by_whom in scored.contradictions
            if by_whom == found_by
        ]
        if contradicted:
            more = f" and {len(contradicted) - _MOST_NAMED} more"
            console.print(
                f"Reasons that contradict their score: {len(contradicted)} of "
                f"{len(scored.results)}, "
                f"{'; '.join(contradicted[:_MOST_NAMED])}{more * (len(contradicted) > _MOST_NAMED)}"
                f". Read them: a {found_by} found them.",
                markup=False,
                soft_wrap=True,
            )


def _paid(judge: "AnyJudge", cost: dict[str, Any]) -> str:
    if not cost["calls"] and not judge.asks_model:
        return "The cost of a custom judge is unknown."
    calls = counted(cost["calls"], "call")
    return f"{calls} cost {cost['cost']}. Calls of earlier runs are included."


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
