"""The plots as drawn: what is in the SVG, what names may do to it, and whose look it has."""

import re
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from judge_gym.analysis.plotted import Overlap
from judge_gym.report.plots.plot import ALL_ITEMS, Kind, Plot, PlotPanel, Rows
from judge_gym.report.plots.style import LONGEST_NAME, short_names
from judge_gym.report.plots.svg import draw, drawings, drawn_before, on_page

HOSTILE = """<script>alert("x")</script> fill="#1c1f23" id="a" url(#a) ]]> &amp; {{ 7 }}"""
LONG = "organisation/" + "model-with-a-name-" * 40


def drawn(kind: Kind, rows: Rows, name: str = "plot-1") -> ElementTree.Element:
    """The drawing of these rows, read back as XML."""
    return ElementTree.fromstring(draw(kind, rows, name, "What it shows"))


def texts(svg: ElementTree.Element) -> list[str]:
    return [one.text for one in svg.iter("text") if one.text]


def having(svg: ElementTree.Element, **attributes: str) -> list[ElementTree.Element]:
    """The elements with these attributes; `_` stands for `-`."""
    wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
    return [one for one in svg.iter() if wanted.items() <= one.attrib.items()]


def cell(
    item: str, pair: str, divergence: float | None, floor: float | None, *, beyond: bool = False
) -> dict[str, Any]:
    return {
        "item": item,
        "pair": pair,
        "divergence": divergence,
        "floor": floor,
        "beyond": beyond,
    }


def test_a_cell_beyond_its_floor_is_told_by_a_mark_and_a_frame() -> None:
    svg = drawn(
        "heat_map",
        [
            cell("Budget", "calm and high", 1.0, 0.0861, beyond=True),
            cell("Courts", "calm and high", 0.0, 0.0),
            cell("Press", "calm and high", None, None),
            cell(ALL_ITEMS, "calm and high", 0.5, 0.04),
        ],
    )
    said = texts(svg)
    assert [one for one in said if "(" in one or one == "–"] == [
        "1.00 (0.09) ▲",
        "0.00 (0.00)",
        "–",
        "0.50 (0.04)",
    ]
    assert [one for one in said if one in ("Budget", "Courts", "Press", "all items")] == [
        "Budget",
        "Courts",
        "Press",
        "all items",
    ]
    assert len(having(svg, stroke="var(--text)", stroke_width="1.5")) == 1
    shades = [one.get("fill-opacity") for one in having(svg, fill="var(--blue)")]
    # A full bit is the darkest; no divergence, none known and the line of all items the lightest.
    assert shades == ["0.5", "0.04", "0.04", "0.04"]


def test_the_map_of_effects_shades_by_size_and_marks_what_moved() -> None:
    svg = drawn(
        "effects_map",
        [
            {"change": "may abstain", "figure": "abstentions", "effect": 0.4, "moved": True},
            {"change": "may abstain", "figure": "verdict", "effect": -0.2, "moved": False},
        ],
    )
    assert [one for one in texts(svg) if re.match(r"-?\d", one)] == ["0.40 ▲", "-0.20"]
    assert len(having(svg, stroke="var(--text)", stroke_width="1.5")) == 1
    [more] = [one.get("fill-opacity") for one in having(svg, fill="var(--blue)")]
    [less] = [one.get("fill-opacity") for one in having(svg, fill="var(--red)")]
    # Half of the largest effect: half way from the lightest to the darkest.
    assert (more, less) == ("0.5", "0.27")


def shares(judge: str, group: str = "order", **given: float) -> list[dict[str, Any]]:
    about = {"group": group, "judge": judge, "stages": 4, "samples": 8}
    return [
        {**about, "category": int(name[1:]) if name[0] == "s" else name, "share": share}
        for name, share in given.items()
    ]


def test_what_gave_no_verdict_is_a_part_of_the_bar_and_counted_beside_it() -> None:
    svg = drawn("distributions", shares("a", s1=0.5, s3=0.25, s4=0, abstained=0.125, failed=0.125))
    assert [one for one in texts(svg) if one in "1234"] == ["1", "3"]
    assert "of 8, 1 abstained, 1 failed" in texts(svg)
    bars = [one.get("d") or "" for one in having(svg, stroke="var(--soft)", stroke_width="0.75")]
    # Shares of a bar 420 wide, one after the other.
    starts_and_widths = [re.match(r"M([\d.]+),[\d.]+h([\d.]+)", bar) for bar in bars]
    assert [(float(one[1]), float(one[2])) for one in starts_and_widths if one] == [
        (0, 210),
        (210, 105),
        (315, 52.5),
        (367.5, 52.5),
    ]
    [hatched] = [one for one in svg.iter() if "url(#" in one.get("fill", "")]
    assert [f"url(#{one.get('id')})" for one in svg.iter("pattern")] == [hatched.get("fill")]


def test_groups_of_judges_have_a_heading_each() -> None:
    rows = shares("a", "order", s1=1) + shares("a", "disorder", s2=1)
    said = [one for one in texts(drawn("distributions", rows)) if one in ("order", "disorder", "a")]
    assert said == ["a", "order", "a", "disorder"] or said == ["order", "a", "disorder", "a"]


def test_a_set_is_drawn_as_its_stages_beside_the_share_of_each_judge() -> None:
    given = [
        {"stages": (2,), "scale": 4, "judge": "a", "share": 0.75},
        {"stages": (2,), "scale": 4, "judge": "b", "share": 0.0},
        {"stages": (2, 3, 4), "scale": 4, "judge": "a", "share": 0.25},
        {"stages": (2, 3, 4), "scale": 4, "judge": "b", "share": 0.6},
        {"stages": None, "scale": 4, "judge": "b", "share": 0.4},
        {"pair": "a and b", "overlap": Overlap.SAME, "share": 0.15},
        {"pair": "a and b", "overlap": Overlap.NESTED, "share": 0.85},
    ]
    svg = drawn("subsets", given)
    said = texts(svg)
    assert [one for one in said if one.endswith("%")][:4] == ["75%", "25%", "60%", "40%"]
    assert [one for one in said if one[0] in "{o"] == ["{2}", "{2, 3, 4}", "other sets"]
    assert "nested 85%" in said
    dots = [one for one in having(svg, fill="var(--text)") if one.tag == "path"]
    assert len(dots) == 4  # one stage, and three


def test_a_line_joins_the_arms_of_an_item_and_a_diamond_is_their_mean() -> None:
    arms = (("sham", 0.8), ("own", 0.7), ("rival's", 0.4))
    given = [
        {"item": item, "arm": arm, "confidence": value - item / 10}
        for item in (0, 1)
        for arm, value in arms
    ]
    given += [
        {"arm": arm, "confidence": value - 0.05, "lower": None, "upper": None}
        if arm == "sham"
        else {"arm": arm, "confidence": value - 0.05, "lower": 0.1, "upper": 0.9}
        for arm, value in arms
    ]
    svg = drawn("swaps", given)
    lines = [one.get("d") or "" for one in having(svg, stroke="var(--soft)", opacity="0.5")]
    assert [line.count("L") for line in lines] == [2, 2]
    assert [one for one in texts(svg) if re.fullmatch(r"0\.\d\d", one)] == ["0.75", "0.65", "0.35"]
    assert len(having(svg, fill="var(--red)")) == 3
    assert len(having(svg, stroke="var(--text)", stroke_width="3")) == 2


def bin_of(
    judge: str,
    stated: float,
    realised: float,
    probes: int,
    ends: tuple[float | None, float | None],
) -> dict[str, Any]:
    found = {"judge": judge, "stated": stated, "realised": realised, "probes": probes}
    return {**found, "nearest": round(stated), "lower": ends[0], "upper": ends[1]}


def test_stated_and_realised_are_drawn_on_one_scale_with_the_diagonal() -> None:
    svg = drawn(
        "reliability",
        [
            bin_of("a", 0.9, 0.5, 7, (0.4, 0.6)),
            bin_of("b", 0.1, 0.2, 3, (None, None)),
        ],
    )
    points = [one.get("transform") for one in having(svg, fill="var(--blue)")]
    # A side of 150: 0.9 across is 135, 0.5 up is 75; 0.1 across is 15, 0.2 up is 30 from below.
    assert points == ["translate(135,75)", "translate(15,120)"]
    diagonals = having(svg, stroke_dasharray="4,3")
    assert len(diagonals) == 2
    assert {"a", "b", "7", "3"} <= set(texts(svg))


def curve_of(judge: str, *points: tuple[float, float, float | None]) -> list[dict[str, Any]]:
    """Rows of a judge on four stages: (reference, stage, line), a mean where there is no line."""
    about = {"judge": judge, "stages": 4, "regime": "graded (0.90)", "steepest": "so steep"}
    return [
        {
            **about,
            "reference": place,
            "mean": value if line is None else None,
            "lower": None,
            "upper": None,
            "fitted": None if line is None else value,
            "line": line,
        }
        for place, value, line in points
    ]


def test_a_response_curve_stands_beside_its_line_under_the_regimes_name() -> None:
    svg = drawn(
        "response", curve_of("a", (0.1, 1, None), (0.5, 2.5, None), (0.0, 1, 1), (1.0, 4, 3))
    )
    # A side of 150: stage 1 is at the bottom, 2.5 half way up.
    points = [one.get("transform") for one in having(svg, fill="var(--text)") if one.get("d")]
    assert points == ["translate(15,150)", "translate(75,75)"]
    [curve] = having(svg, stroke="var(--blue)", stroke_width="2")
    [line] = having(svg, stroke="var(--soft)", stroke_dasharray="4,3")
    assert (curve.get("d"), line.get("d")) == ("M0,150L150,0", "M0,150L150,50")
    said = texts(svg)
    assert (said.count("graded (0.90)"), said.count("so steep"), said.count("a")) == (1, 1, 1)


def effect(change: str, value: float, ends: tuple[float, float] | None) -> dict[str, Any]:
    lower, upper = ends or (None, None)
    return {"change": change, "effect": value, "lower": lower, "upper": upper, "unit": "scale"}


def headline(question: str, label: str, conclusion: str = "supported") -> dict[str, Any]:
    figure = {
        "estimate": 0.3,
        "lower": 0.2,
        "upper": 0.4,
        "near": 0,
        "far": 0.05,
        "said": "so much",
    }
    words = {"conclusion": conclusion, "concluded": conclusion}
    return {"question": question, "label": label, **words, **figure}


def test_headlines_of_one_question_share_an_axis_and_look_as_they_came_out() -> None:
    """Shapes differ, so that colour is not needed; each row has its margin and its figure."""
    looks = [headline("Q?", one, one) for one in ("supported", "refuted", "inconclusive")]
    svg = drawn("headlines", looks)
    assert texts(svg).count("so much") == 3
    assert texts(svg).count("Q?") == 1
    assert [texts(svg).count(one["conclusion"]) for one in looks] == [2, 2, 2]
    colours = ("var(--blue)", "var(--red)", "var(--soft)")
    marks = {
        (one.get("d"), one.get("fill") in colours)
        for one in svg.iter("path")
        if (one.get("transform") or "").startswith("translate(")
        and {one.get("fill"), one.get("stroke")} & set(colours)
    }
    assert len(marks) == 3


def test_an_effect_stands_by_its_interval_and_one_without_is_hollow() -> None:
    svg = drawn(
        "forest", [effect("view: raw → neutral", -0.2, (-0.4, -0.001)), effect("scale", 0.1, None)]
    )
    assert {"-0.20 [-0.40, -0.001]", "0.10 (no interval)"} <= set(texts(svg))
    filled = [one for one in having(svg, fill="var(--blue)") if one.tag == "path"]
    assert len(filled) == 1
    # From -0.4 to 0.4 on 240: -0.2 is at 60.
    assert (filled[0].get("transform") or "").startswith("translate(60,")


def named(name: str) -> dict[Kind, Rows]:
    """Rows of every kind of plot, two of each, with this name wherever one comes from outside."""
    other = f"{name} 2"
    mean = {"confidence": 0.5, "lower": None, "upper": None, "arm": "own"}
    return {
        "heat_map": [cell(name, name, 0.5, 0.1), cell(other, name, 0.5, 0.1)],
        "distributions": [*shares(name, name, s1=1), *shares(other, other, s1=1)],
        "subsets": [
            *({"stages": (1,), "scale": 4, "judge": one, "share": 1.0} for one in (name, other)),
            {"pair": name, "overlap": Overlap.APART, "share": 1.0},
        ],
        "swaps": [{"item": 1, "arm": "own", "confidence": 0.5}, mean],
        "reliability": [bin_of(one, 0.5, 0.5, 1, (None, None)) for one in (name, other)],
        "response": [
            row
            for one in (name, other)
            for row in curve_of(one, (0.5, 2, None), (0, 1, 1), (1, 2, 2))
        ],
        "headlines": [headline(name, other), headline(other, name)],
        "forest": [effect(name, 0.1, None), effect(other, 0.1, None)],
    }


@pytest.mark.parametrize("kind", named("x"))
def test_names_from_outside_are_text_and_short(kind: Kind) -> None:
    for name in (HOSTILE, LONG):
        written = draw(kind, named(name)[kind], "plot-1", name)
        assert "<script" not in written
        svg = ElementTree.fromstring(written)
        assert svg.get("aria-label") == svg.findtext("title") == name
        assert {one.tag for one in svg.iter()} <= {
            *(
                "svg",
                "title",
                "defs",
                "pattern",
                "g",
                "path",
                "line",
                "text",
                "tspan",
                "circle",
                "rect",
            )
        }
        assert max(len(text) for text in texts(svg)) <= 80
        assert float(svg.get("width", "")) < 1100


@pytest.mark.parametrize("kind", named("x"))
def test_a_drawing_is_the_pages_own_and_the_same_every_time(kind: Kind) -> None:
    first, again, other = (
        draw(kind, named("a")[kind], name, "label") for name in ("p-1", "p-1", "p-2")
    )
    assert first == again
    ids = re.findall(r' id="([^"]*)"', first)
    assert ids
    assert not set(ids) & set(re.findall(r' id="([^"]*)"', other))
    assert not re.search(r"font-family|xmlns|http|href|<style|#[0-9a-f]{3,6}\"", first)


def test_a_colour_that_does_not_follow_the_page_is_refused() -> None:
    with pytest.raises(ValueError, match="#123456 is no colour of the page"):
        on_page('<svg width="1" height="1"><path fill="#123456"/></svg>', "p", "label")


def test_short_names_stay_apart() -> None:
    names = [LONG + "1", LONG + "2", "plain", "two\n lines\x00", "\u202e"]
    shown = short_names(names)
    assert list(shown) == names
    assert len(set(shown.values())) == len(names)
    assert all(len(one) <= LONGEST_NAME for one in shown.values())
    assert (shown["plain"], shown["two\n lines\x00"], shown["\u202e"]) == (
        "plain",
        "two lines",
        "…",
    )


def plot(rows: Rows, *, simulated: bool = False) -> Plot:
    return Plot(
        *("forest", "Effects", "How to read it.", "Axes"),
        panels=(PlotPanel("verdict", rows),),
        simulated=simulated,
    )


def test_a_simulated_plot_says_so_to_a_screen_reader_too() -> None:
    rows = [effect("view", 0.1, None)]
    [real], [simulated] = (drawings(plot(rows, simulated=one), {}) for one in (False, True))
    assert 'aria-label="Effects. verdict. How to read it."' in real.svg
    assert 'aria-label="SIMULATED. Effects. verdict. How to read it."' in simulated.svg


def test_a_drawing_of_the_same_rows_is_taken_from_the_older_page() -> None:
    rows = [effect("view", 0.1, None)]
    [drawing] = drawings(plot(rows), {})
    altered = drawing.svg.replace(">view<", ">seen before<")
    older = drawn_before(f"<html>{altered}<svg></svg></html>")
    assert [one.svg for one in drawings(plot(rows), older)] == [altered]
    [changed] = drawings(plot([effect("view", 0.2, None)]), older)
    assert "seen before" not in changed.svg


def test_a_page_is_read_and_written_without_altair() -> None:
    program = (
        "import sys, judge_gym.report.page\n"
        "print(sorted({'altair', 'vl_convert', 'pandas'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_an_empty_plot_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="no reason"):
        Plot("forest", "Effects", "", "Axes")
