"""Charts and tables of a soak, as one HTML file that loads nothing."""

import csv
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import altair as alt
import vl_convert

from judge_gym.report.plots import style
from support.soak.findings import (
    ENOUGH_S,
    Story,
    doubled,
    failures,
    growth,
    missed,
    paid_twice,
    rows_of_a_run,
)
from support.soak.samples import Sample

MEASURES = ("memory, MB", "open files", "connections", "rows", "size of the database, MB")
MOST = 6


def write(story: Story, file: Path) -> None:
    """Write the page."""
    wrong = failures(story)
    parts = [
        "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>Soak</title>",
        "<style>body{font:15px sans-serif;max-width:70em;margin:2em auto}td,th{text-align:left;"
        "vertical-align:top;padding:.2em .8em .2em 0}svg{max-width:100%}</style>",
        f"<h1>Soak, seed {story.seed}</h1><p>{escape('; '.join(facts(story)))}.</p>",
        f"<h2>{len(wrong)} failures</h2><ul>{''.join(f'<li>{escape(one)}</li>' for one in wrong)}"
        "</ul><h2>Faults</h2>",
        table(("fault", "began, UTC", "seconds", "doctor", "remedy", "beside it"), faults(story)),
        "<h2>Flat</h2>",
        table(("measure", "part", "second third", "last third", "flat"), flat(story)),
    ]
    for measure in MEASURES:
        if samples := story.samples.of(measure):
            parts.append(f"<h2>{escape(measure)}</h2>{drawn(samples, measure, story)}")
    file.write_text("\n".join(parts), encoding="utf-8")


def write_samples(story: Story, file: Path) -> None:
    """Write every sample as a row of CSV."""
    with file.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(("seconds", "measure", "part", "value", "process"))
        for one in story.samples.taken:
            value = f"{one.value:g}"
            rows.writerow((f"{one.at_s:.0f}", one.measure, one.part, value, one.life or ""))


def facts(story: Story) -> list[str]:
    """What the soak comes to, in a line each."""
    largest = sorted(story.samples.largest.items(), key=lambda one: -one[1])
    ends = sorted({str(run["state_name"]) for run in story.runs})
    runs = ", ".join(f"{sum(run['state_name'] == end for run in story.runs)} {end}" for end in ends)
    return [
        f"{(story.stopped - story.began).total_seconds() / 60:.0f} minutes",
        f"{len(story.seen)} faults",
        f"{len(story.runs)} runs ({runs}), {len(missed(story))} missing, {doubled(story)} doubled",
        f"{story.judged} of {story.items} items judged",
        f"{sum(story.answered.values())} answers billed, {story.ledger} in the ledger",
        f"{paid_twice(story)} paid twice, {story.at_risk} in flight at faults",
        f"{rows_of_a_run(story):.0f} rows of Prefect's database for each run",
        "its largest tables: " + ", ".join(f"{name} {rows}" for name, rows in largest[:MOST]),
        *(
            ()
            if any(growth(story))
            else (f"no trend: no process lived {ENOUGH_S / 60:.0f} minutes",)
        ),
    ]


def faults(story: Story) -> list[tuple[str, ...]]:
    """A row for each fault: when, how long, and what the doctor said."""
    return [
        (
            one.name,
            f"{one.began:%H:%M:%S}",
            f"{(one.ended - one.began).total_seconds():.0f}",
            one.line or "-",
            one.remedy,
            "; ".join(one.others),
        )
        for one in story.seen
    ]


def flat(story: Story) -> list[tuple[str, ...]]:
    """A row for each part: its medians, and whether they are flat."""
    return [
        (measure, part, f"{before:.0f}", f"{after:.0f}", "yes" if is_flat else "no")
        for measure, part, before, after, is_flat in growth(story)
    ]


def table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as HTML."""
    lines = [
        f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in row)}</tr>"
        for kind, row in (("th", tuple(head)), *(("td", tuple(row)) for row in rows))
    ]
    return f"<table>{''.join(lines)}</table>"


def drawn(samples: Sequence[Sample], measure: str, story: Story) -> str:
    """A measure over time, a line for each life of each part, and the faults behind it."""
    began = story.samples.began
    rows = [
        {"minute": one.at_s / 60, "value": one.value, "part": one.part, "life": str(one.life)}
        for one in samples
    ]
    bands = [
        {
            "begin": (one.began - began).total_seconds() / 60,
            "end": (one.ended - began).total_seconds() / 60,
        }
        for one in story.seen
    ]
    x = alt.X("minute:Q").title("minutes")
    lines = (
        style.chart(rows)
        .mark_line(strokeWidth=1.5)
        .encode(
            x=x,
            y=alt.Y("value:Q").title(measure),
            color=alt.Color("part:N").title(None),
            detail="life:N",
        )
    )
    behind = (
        style.chart(bands or [{"begin": 0, "end": 0}])
        .mark_rect(color=style.LINE, opacity=0.6)
        .encode(x=alt.X("begin:Q").title("minutes"), x2="end:Q")
    )
    chart = alt.layer(behind, lines).properties(width=760, height=200).configure(**style.CONFIG)
    return str(vl_convert.vegalite_to_svg(chart.to_json()))
