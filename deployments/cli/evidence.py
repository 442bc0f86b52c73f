"""`judge-gym evidence`: windows and their documents."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.environment import database, database_engine
from deployments.cli.json_output import print_json
from deployments.cli.options import AsJson, WindowName
from deployments.cli.output import console, kept, marked, show_table
from judge_gym.counting import counted


def list_windows() -> None:
    """List windows with the number of documents kept and dropped."""
    from judge_gym.store.windows import window_lines

    with database() as session:
        rows = [
            (
                window.id,
                window.name,
                window.country,
                window.dates,
                window.source,
                kept(window),
                window.dropped,
            )
            for window in window_lines(session)
        ]
    columns = ("number", "name", "country", "dates", "source", "documents", "dropped")
    show_table("Windows", columns, rows)


def show(
    window: WindowName,
) -> None:
    """Show the documents of a window and those dropped, with the reason."""
    from collections import Counter

    from judge_gym.lab.evidence_notes import notes_on
    from judge_gym.store.judgement_texts import dropped_documents
    from judge_gym.store.windows import document_lines, load_window, window_id

    with database() as session:
        number = window_id(session, window)
        stored = load_window(session, number)
        documents = document_lines(session, number)
        kept: list[tuple[object, ...]] = [
            (
                document.id,
                document.published or "",
                document.tier,
                marked(document.title, simulated=document.simulated),
                f"{document.characters:,} of {document.cut_from:,}"
                if document.cut_from
                else document.characters,
                document.views,
                document.doubt,
            )
            for document in documents
        ]
        out = [(row.reason, row.title, row.detail) for row in dropped_documents(session, number)]
    console.print(stored.model_dump_json(indent=2, exclude_none=True), markup=False)
    columns = ["number", "date", "tier", "title", "characters", "views", "doubtful"]
    if not any(row[-1] for row in kept):
        columns, kept = columns[:-1], [row[:-1] for row in kept]
    show_table("Documents", columns, kept)
    dropped = Counter(str(reason) for reason, _, _ in out)
    for note in notes_on(stored.name or window, documents, len(documents), dropped):
        console.warn(note, soft_wrap=True)
    show_table("Dropped", ("reason", "title", "why"), out)


def bundles(
    window: WindowName,
    as_json: AsJson = False,
) -> None:
    """Show the bundles of a window's documents, and how alike their texts are."""
    from judge_gym.design.grouping import within_similarity
    from judge_gym.errors import StoreError
    from judge_gym.store.items import bundle_plans, documents_of, plan_similarity
    from judge_gym.store.windows import document_lines, window_id

    with database() as session:
        number = window_id(session, window)
        plans = bundle_plans(session, number)
        documents = documents_of(session, number)
        places = {key: place for place, key in enumerate(documents)}
        shown = []
        for plan in plans:
            groups = [[places[key] for key in keys] for keys in plan.groups]
            similarity = plan_similarity(
                session, number, plan.bundles, plan.recipe, documents.values()
            )
            shown.append((plan, within_similarity(groups, similarity)))
        titles = {line.id: line.title for line in document_lines(session, number)}
    if not plans:
        raise StoreError(
            f"Window {window} has no bundles yet.", "A sweep with `bundles` makes them in W3."
        )
    if as_json:
        print_json(
            window=window,
            plans=[
                {
                    "plan": plan.plan,
                    "view": plan.view,
                    "embeddings": plan.bundles.embeddings or None,
                    "digest": plan.digest,
                    "groups": [
                        {"documents": list(keys), "similarity": mean}
                        for keys, mean in zip(plan.groups, means, strict=True)
                    ],
                }
                for plan, means in shown
            ],
        )
        return
    for plan, means in shown:
        rows = [
            (
                place,
                "; ".join(titles[documents[key]] for key in keys),
                len(keys),
                f"{mean:.2f}",
            )
            for place, (keys, mean) in enumerate(zip(plan.groups, means, strict=True), start=1)
        ]
        mean = sum(means) / len(means)
        title = f"Bundles {plan.plan}: {len(rows)}, mean similarity {mean:.2f}, {plan.digest}"
        show_table(title, ("bundle", "titles", "documents", "similarity"), rows)


def collect(
    window: WindowName,
    again: Annotated[
        bool, typer.Option("--again", help="Collect anew; refused if documents were judged.")
    ] = False,
) -> None:
    """Collect the documents of a window, unless it was collected."""
    import asyncio

    from judge_gym.errors import StoreError
    from judge_gym.lab.evidence import collect_window
    from judge_gym.runtime import runtime
    from judge_gym.store.locks import exclusive
    from judge_gym.store.windows import reopen, window_id

    async def collected(number: int) -> dict[str, int]:
        async with runtime() as current:
            return await collect_window(current, number)

    with database() as session:
        number = window_id(session, window)
    with database_engine() as engine, exclusive(engine, {"windows": [number]}):
        if again:
            with database() as session:
                reopen(session, number)
        counts = asyncio.run(collected(number))
    if not counts:
        raise StoreError(
            f"Window {window} was collected before.", "Nothing was changed. Add --again to repeat."
        )
    dropped = ", ".join(f"{reason} {n}" for reason, n in counts.items() if reason != "kept")
    kept = counted(counts["kept"], "document")
    console.print(f"Window {window}: {kept}; dropped: {dropped or 'none'}.", markup=False)


def create(
    file: Annotated[Path, typer.Argument(help="A sweep file.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Store the windows of a sweep file without collecting them."""
    from judge_gym.design.sweep import load_sweep
    from judge_gym.store.windows import register_window

    sweep = load_sweep(file)
    with database() as session:
        stored = {name: register_window(session, window) for name, window in sweep.windows.items()}
    if as_json:
        print_json(sweep=sweep.name, windows=stored)
        return
    for name, window_id in stored.items():
        console.print(f"{window_id}  {name}", markup=False)
