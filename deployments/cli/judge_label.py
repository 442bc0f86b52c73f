"""`judge-gym judge label` and `judge agreement`: people label items, and how well they agree."""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deployments.cli.environment import naming_port, stop_event
from deployments.cli.json_output import json_output
from deployments.cli.options import (
    AsJson,
    Fields,
    JudgeFile,
    LabelFields,
    Labels,
    Port,
    fields_of,
    labels_of,
)
from deployments.cli.output import command, console, errors, say_simulated, show_table
from judge_gym.writable import check_writable

if TYPE_CHECKING:
    from judge_gym.judges import AnyJudge, Item, ItemFile, JudgeResult
    from judge_gym.judges.labelling import Labelling
    from judge_gym.judges.people import People
    from judge_gym.metrics.estimate import Estimate

PORT = 8770
_MOST_REPEATS = 1000
_LONGEST_CELL = 60
_Items = Annotated[
    Path, typer.Option(help="The items (CSV, Excel, JSON, JSONL).", show_default=False)
]


def label(
    file: JudgeFile,
    items: _Items,
    annotator: Annotated[
        str, typer.Option(help="Who labels; several people give their names on the page.")
    ] = "",
    labels: Annotated[
        Path | None,
        typer.Option(
            help="The file of labels (JSONL) to append to.",
            show_default="ITEMS.labels.jsonl beside the items",
        ),
    ] = None,
    draw: Annotated[
        Literal["random", "gain", "ranking"],
        typer.Option(help="How items are drawn: at random, by expected gain, or to rank systems."),
    ] = "random",
    until: Annotated[
        float,
        typer.Option(help="Stop at this half-width of the share of labels met.", min=0.0, max=0.5),
    ] = 0.1,
    by_criterion: Annotated[
        bool, typer.Option("--by-criterion", help="Label each criterion of a rubric.")
    ] = False,
    show_score: Annotated[
        bool, typer.Option("--show-score", help="Show the judge's score; labels may follow it.")
    ] = False,
    port: Port = PORT,
    fields: Fields = None,
    overlap: Annotated[
        int,
        typer.Option(help="How many people label each item.", min=0, show_default="everyone"),
    ] = 0,
    adjudicator: Annotated[
        str, typer.Option(help="Who decides the items on which people differ, by name.")
    ] = "",
) -> None:
    """Serve a page on which people label items, until Ctrl-C.

    No calls are made. Labels are stored one by one; rerun the command to resume.
    """
    from judge_gym.judges import load_judge, read_item_file
    from judge_gym.judges.corrected import labelled_for_sure
    from judge_gym.judges.item_files import label_path
    from judge_gym.judges.labelling import Draw, Labelling
    from judge_gym.judges.systems import draw_to_compare
    from judge_gym.records.judgements import mean_scores
    from judge_gym.report.correction import draw_note

    judge = load_judge(file)
    read = read_item_file(items, fields_of(items, fields))
    read.check([judge])
    if said := read.conversations.said().strip():
        console.plain(said)
    labelling = Labelling(
        judge=judge,
        items=_texts_to_rank(read) if Draw(draw) is Draw.RANKING else read.texts,
        file=labels or label_path(items),
        judged=mean_scores(_stored(judge, read.texts)[1]),
        draw=Draw(draw),
        until=until,
        criteria=_criteria(judge, by_criterion=by_criterion),
        shows_score=show_score,
        sure=labelled_for_sure(read.items),
        overlap=overlap,
        adjudicator=adjudicator.strip(),
    )
    if labelling.draw is Draw.GAIN and (to_compare := draw_to_compare(read.items)):
        errors.plain(draw_note(to_compare))
    _label(labelling, annotator.strip(), port, items)


def _label(labelling: "Labelling", annotator: str, port: int, items: Path) -> None:
    """Serve the page until Ctrl-C, then print what is labelled."""
    labelling.labels()  # errors in the file are raised before a server is started
    if not labelling.judged:
        console.print(
            "The judge has no stored scores: labelling stops when all items are labelled."
        )
    asyncio.run(_serve(labelling, annotator, port, items))
    stored = labelling.labels()
    console.plain(stored.said() if stored else "No labels.")


def _texts_to_rank(read: "ItemFile") -> "tuple[Item, ...]":
    """Return each text once for each system that gave it; warn where a system gave it twice."""
    texts = read.texts_by_system
    if repeated := len(read.items) - len(texts):
        rows = "1 row repeats" if repeated == 1 else f"{repeated:,} rows repeat"
        errors.warn(
            f"{rows} a text of the same system, which counts once in this ranking. "
            f"`{command()} judge estimate` counts every row.",
            soft_wrap=True,
        )
    return texts


def _criteria(judge: "AnyJudge", *, by_criterion: bool) -> tuple[str, ...]:
    """Return what people label: the whole item, or each criterion of a rubric."""
    from judge_gym.errors import ConfigError
    from judge_gym.judges import RubricJudge
    from judge_gym.judges.people import WHOLE

    if not by_criterion:
        return (WHOLE,)
    if not isinstance(judge, RubricJudge):
        raise ConfigError(f"Judge {judge.name!r} has no criteria.", "Leave --by-criterion out.")
    return tuple(judge.parts)


async def _serve(labelling: "Labelling", annotator: str, port: int, items: Path) -> None:
    from deployments.local.labellings import LABELS, registered
    from judge_gym.judges.labelling import serving
    from judge_gym.report.labelling import label_page
    from judge_gym.settings import settings

    title = f"{labelling.judge.name}: {items.name}"
    stop, page = stop_event(), partial(label_page, labelling, annotator)
    with naming_port(f"The page cannot be served at port {port}"):
        async with serving(labelling, page=page, port=port) as url:
            with registered(settings().data_dir, items.stem, title, url) as name:
                console.plain(f"Label at {url}")
                console.plain(f"Labels: {labelling.file}")
                console.print(f"Under `judge-gym up`: {LABELS}/{name}/, with its password.")
                console.print("Stop with Ctrl-C.")
                await stop.wait()


def agreement(
    file: JudgeFile,
    items: _Items,
    labels: Labels = None,
    export: Annotated[
        Path | None,
        typer.Option(help="Write every label to this CSV or JSONL file.", show_default="none"),
    ] = None,
    shown: Annotated[int, typer.Option(help="Items shown, the hardest first.", min=0)] = 10,
    as_json: AsJson = False,
    fields: Fields = None,
    label_fields: LabelFields = None,
) -> None:
    """Show how people agree among themselves and with a judge.

    No calls are made: uses the judge's stored scores.
    """
    from judge_gym.judges import LabelFile, load_judge, read_item_file, write_labels
    from judge_gym.judges.item_files import label_path

    check_writable("--export", export)
    judge = load_judge(file)
    read = read_item_file(items, fields_of(items, fields))
    # Without a file, the items' own column is the labels of one annotator.
    given = labels_of(labels, label_fields) or LabelFile(label_path(items), (), ())
    bound = read.with_labels(given, [judge])
    assert bound.people is not None
    if export:
        write_labels(export, given.keyed(bound.keys()).every)
    answers, results = _stored(judge, read.texts)
    simulated = any(one.simulated for some in results.values() for one in some)
    if as_json:
        figures = {name or "whole": _figures(bound.people, name, results, shown)
                   for name in bound.people.criteria}  # fmt: skip
        found = {"labels": bound.said(judge), "answers": answers, "simulated": simulated,
                 "criteria": figures}  # fmt: skip
        json_output.give(found)
        return
    console.plain(f"{bound.said(judge)} {answers}".strip())
    for name in bound.people.criteria:
        _show(bound.people, name, results, shown)
    if simulated:
        say_simulated()
    if export:
        console.plain(f"Labels: {export}")


def _stored(
    judge: "AnyJudge", items: "tuple[Item, ...]"
) -> "tuple[str, Mapping[str, list[JudgeResult]]]":
    """Return whether items were judged again, and the judge's stored results by item key."""
    from deployments.cli.environment import database, prepare_environment
    from judge_gym.judges.calibrating.judging import Asked, newest_answers, results_of

    prepare_environment()
    with errors.status("Opening the database."), database() as session:
        newest = newest_answers(session, Asked(judge, items, _MOST_REPEATS))
        results = results_of(session, judge, items, _MOST_REPEATS, newest.review_day)
    return newest.said, results


def _show(
    people: "People", name: str, results: "Mapping[str, list[JudgeResult]]", shown: int
) -> None:
    from judge_gym.formats import figure

    def text(estimate: "Estimate | None") -> str:
        if estimate is None:
            return ""
        return figure(estimate) if estimate.estimate is not None else estimate.reason

    of = f"criterion {name}" if name else "the whole item"
    floor = people.floor(name, results)
    show_table(
        f"Agreement of each annotator, {of} (Lin's concordance; κ of verdicts)",
        ("annotator", "labels", "with the other people", "with the judge"),
        [(p.annotator, p.labels, text(p.with_others), text(p.with_judge)) for p in floor.people],
    )
    if len(floor.pairs) > 1:
        show_table(
            f"Agreement of two annotators, {of}",
            ("annotators", "concordance"),
            [(" and ".join(pair), text(estimate)) for pair, estimate in floor.pairs.items()],
        )
    console.plain(str(floor))
    distance = people.distance(results, name)
    console.plain(
        f"Distance of the judge to a person, as a share of the scale: {text(distance.distance)}; "
        f"beyond that of people to each other: {text(distance.excess)}."
    )
    confusion = people.confusion(results, name)
    if confusion.counts.any():
        show_table(
            f"Judge (rows) against every person's label (columns), {of}",
            ("judge", *confusion.names),
            [(row, *counts) for row, counts in
             zip(confusion.names, confusion.counts.tolist(), strict=True)],
        )  # fmt: skip
    if hardest := people.hardest(results, name)[:shown]:
        show_table(
            f"Items on which people disagree most, {of}",
            ("item", "labels", "judge", "text"),
            [
                (
                    hard.item.id,
                    ", ".join(f"{who} {value:g}" for who, value in hard.labels.items()),
                    "" if hard.judged is None else f"{hard.judged:.4g}",
                    " ".join(hard.item.text.split())[:_LONGEST_CELL],
                )
                for hard in hardest
            ],
        )


def _figures(
    people: "People", name: str, results: "Mapping[str, list[JudgeResult]]", shown: int
) -> dict[str, Any]:
    """Return the figures of a criterion for programs."""
    from dataclasses import asdict

    floor, distance = people.floor(name, results), people.distance(results, name)
    confusion = people.confusion(results, name)
    return {
        "alpha": asdict(floor.alpha),
        "annotators": [asdict(person) for person in floor.people],
        "pairs": [
            {"annotators": list(pair), "concordance": asdict(estimate)}
            for pair, estimate in floor.pairs.items()
        ],
        "distance": asdict(distance.distance),
        "excess": asdict(distance.excess),
        "confusion": {"names": list(confusion.names), "judge_by_person": confusion.counts.tolist()},
        "hardest": [
            {"item": hard.item.id, "labels": dict(hard.labels), "spread": hard.spread,
             "judged": hard.judged}
            for hard in people.hardest(results, name)[:shown]
        ],
    }  # fmt: skip
