"""Mappings of files whose format says what their columns mean.

Each is a `Recorded` like one that a user writes, so it can be printed, edited and given back.
"""

import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from judge_gym.counting import counted
from judge_gym.errors import ConfigError
from judge_gym.recorded.columns import ColumnError, Source, text_at
from judge_gym.recorded.content import Left
from judge_gym.recorded.formats import READ, Format
from judge_gym.recorded.mapping import Choice, Recorded, Scale, as_number
from judge_gym.recorded.reading import RecordedFiles

_GRADES = {"I": "incorrect", "P": "partly correct", "C": "correct"}
"""Grades of Inspect, lowest first; N is no answer."""
_NO_ANSWER = "N"
_OPPOSITES = (
    ("false", "true"), ("fail", "pass"), ("no", "yes"), ("incorrect", "correct"),
    ("wrong", "right"), ("bad", "good"), ("0", "1"),
)  # fmt: skip
"""Pairs of verdicts, the lower one first."""
_LOW = {low for low, _ in _OPPOSITES} | {"i"}
_HIGH = {high for _, high in _OPPOSITES} | {"c"}
_MOST = 10
"""Most stages, and most values that an error names."""
_COLUMNS = {
    "item": ("item", "item_id", "id"),
    "judge": ("judge", "model", "annotator", "rater"),
    "verdict": ("score", "verdict", "rating", "grade"),
    "truth": ("truth", "label", "gold", "target"),
    "text": ("text", "output", "answer"),
    "system": ("system", "generator", "model"),
}
"""What a column of a plain file is → the names that it may have."""


@dataclass(frozen=True)
class Options:
    """What a user says of a file whose format says the rest."""

    judges: str = ""
    """Of an Inspect log: who judges, `models` or `scorers`; by its content if not given."""
    criteria: Collection[str] = ()
    """Scorers or criteria to read; all, if not given."""
    truth: str = ""
    """A column with the known answer, such as `metadata.human` or `vars.label`."""
    cuts: Sequence[float] = ()
    """Scores at which a new stage begins."""


def options_of(
    judges: str, criteria: Sequence[str] | None, truth: str, cuts: Sequence[float] | None
) -> Options:
    """Return options as typed; raises `ConfigError` for a kind of judges that there is not."""
    if judges not in ("", "models", "scorers"):
        raise ConfigError(f"--judges is {judges!r}.", "Use models or scorers.")
    return Options(judges, tuple(criteria or ()), truth, tuple(cuts or ()))


@dataclass
class Derived:
    """The mappings of some files."""

    readings: list[Recorded] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    """Scores that have no mapping → why."""
    weighted: int = 0
    """Preferences between 1 and 2, which are read as the side that they are on."""
    notes: list[str] = field(default_factory=list)
    """What was read as what, where the format does not say it, and how to say otherwise."""


@dataclass(frozen=True)
class _Stages:
    """Verdicts as stages."""

    names: tuple[str, ...]
    decisions: Mapping[str, Choice]
    scale: Scale | None = None
    cuts: Sequence[float] = ()
    written: bool = True
    """Whether files write verdicts by these names."""

    def same(self, value: str) -> int | None:
        """Return the stage of a value that is literally a verdict, whatever its case."""
        if self.scale:
            return self.scale.stage(value)
        named = {name: at for at, name in enumerate(self.names, 1)} if self.written else {}
        for verdict, choice in {**named, **self.decisions}.items():
            if isinstance(choice, int) and verdict.casefold() == value.casefold():
                return choice
        return None

    def label(self, value: str) -> int | None:
        """Return the stage that a known answer stands for."""
        if (choice := self.decisions.get(value)) is not None:
            return choice if isinstance(choice, int) else None
        if value in self.names:
            return self.names.index(value) + 1
        if self.scale:
            return self.scale.stage(value)
        if self.cuts and (number := as_number(value)) is not None:
            return _cut(number, self.cuts)
        low = value.casefold() in _LOW
        if low or value.casefold() in _HIGH:
            return 1 if low else len(self.names)
        return None


class _Unfit(Exception):
    """Verdicts that are no stages; says why, and `scale` where they are more numbers than those."""

    def __init__(self, why: str, scale: Scale | None = None) -> None:
        super().__init__(why)
        self.scale = scale

    @property
    def cut(self) -> str:
        """An option that reads two stages, in the middle of the scale."""
        if self.scale is None:
            return ""
        middle = (self.scale.lowest + self.scale.highest) / 2
        return f"--cut {middle:.0f}" if abs(middle) >= _MOST else f"--cut {middle:.2g}"

    def noted(self, scorer: str) -> str:
        """Return why, with the options that read the scores of a scorer."""
        if not self.scale:
            return str(self)
        return f"{self}; --scorer {shlex.quote(scorer)} {self.cut} reads two"


Rows = list[dict[str, Any]]


def derived(files: RecordedFiles, kind: Format, options: Options) -> Derived:
    """Return the mappings of files; raises `ConfigError` where none can be derived."""
    rows = [row.values for content in files.contents.values() for row in content.rows]
    left = [
        name for content in files.contents.values() for of in content.left.values() for name in of
    ]
    if not rows:
        headers = [of.left.get(Left.NO_SAMPLES, []) for of in files.contents.values()]
        if headers and all(headers):
            raise ConfigError(
                f"{_names(files)}: the log has no samples, so there is no judgement to read.",
                "It is a header only, or the eval ran with log_samples off. Give the whole log, or "
                "run the eval again with log_samples on.",
            )
        raise ConfigError(f"{_names(files)}: no judgement of {kind}.", _first(left) or READ)
    found = Derived(notes=[note for content in files.contents.values() for note in content.notes])
    for task in {content.task for content in files.contents.values()} - {"", *_by(rows, "task")}:
        of_task = [one for one in files.contents.values() if one.task == task]
        none = [name for content in of_task for of in content.left.values() for name in of]
        found.unread[task] = f"no judgement. {_first(none)}"
    make = {
        "inspect": _of_inspect, "promptfoo": _of_promptfoo, "alpaca_eval": _of_alpaca_eval,
        "rows": _of_rows,
    }[kind]  # fmt: skip
    make(found, rows, options, files)
    if not found.readings:
        why = "; ".join(f"{name}: {reason}" for name, reason in found.unread.items())
        cut = next(iter(re.findall(r"--cut \S+", why)), "--cut")
        raise ConfigError(
            f"{_names(files)}: no judgement to compare: {why}.",
            f"Name the scores at which a stage begins with {cut}, or write a mapping file.",
        )
    return found


def _names(files: RecordedFiles) -> str:
    more = len(files.paths) - 1
    return f"{files.paths[0]}{f' and {more} more' if more else ''}"


def _first(left: Sequence[str]) -> str:
    more = f"; and {len(left) - 3:,} more" if len(left) > 3 else ""
    return f"It has: {'; '.join(left[:3])}{more}." if left else ""


def _named_by(files: RecordedFiles) -> str:
    return _slug(files.paths[0].name.partition(".")[0])


def _of_inspect(found: Derived, rows: Rows, options: Options, _: RecordedFiles) -> None:
    _check_chosen(options, {row["name"] for row in rows} | {row["scorer"] for row in rows})
    for task, of_task in _by(rows, "task").items():
        by_name = {
            name: of_name
            for name, of_name in _by(of_task, "name").items()
            if not options.criteria or {name, of_name[0]["scorer"]} & set(options.criteria)
        }
        answering = [name for name, of_name in by_name.items() if _answers_targets(of_name)]
        if options.judges == "models" or (answering and not options.judges):
            if not answering:
                raise ConfigError(
                    f"--judges is models, and no scorer of task {task} has answers that are "
                    "targets.",
                    "Use --judges scorers.",
                )
            _add_models(found, task, answering[0], by_name[answering[0]], options)
            for name in by_name.keys() - {answering[0]}:
                found.unread[f"{task}, {name}"] = "the models are the judges; --judges scorers"
        else:
            _add_scorers(found, task, by_name, options)


def _answers_targets(rows: Rows) -> bool:
    """Whether answers are verdicts: most are one of a few targets, which are the known verdicts."""
    targets = {row["target"] for row in rows}
    samples = {(row["sample"], row["target"]) for row in rows}
    if not 2 <= len(targets) <= min(_MOST, len(samples) - 1) or "" in targets:
        return False
    names = {target.casefold() for target in targets}
    return 2 * sum(row["answer"].strip().casefold() in names for row in rows) >= len(rows)


def _add_models(found: Derived, task: str, name: str, rows: Rows, options: Options) -> None:
    stages = _stages({row["target"] for row in rows}, options, named=True)
    answers = {row["answer"].strip() for row in rows} - {""}
    decisions = {answer: stage for answer in answers if (stage := _named(stages, answer))}
    _add(
        found, rows, options, stages, format="inspect", name=_slug(task), concept=name,
        source=f"Inspect log, task {task}", judge_column="model", only={"task": task, "name": name},
        item={"key": "sample", "text": "input", "truth": "target"},
        verdicts=[{"column": "answer", "answer": "output"}], decisions=decisions,
        unlisted="unreadable",
    )  # fmt: skip


def _named(stages: _Stages, answer: str) -> int | None:
    stage = stages.label(answer)
    alike = [
        number for name, number in stages.decisions.items() if name.casefold() == answer.casefold()
    ]
    return stage or (alike[0] if alike and isinstance(alike[0], int) else None)


def _add_scorers(found: Derived, task: str, by_name: Mapping[str, Rows], options: Options) -> None:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, of_name in by_name.items():
        groups[_kind(name, of_name)].append(name)
    for names in groups.values():
        rows = [row for name in names for row in by_name[name]]
        group = names[0] if len(names) == 1 else "scorers"
        models = len({row["model"] for row in rows})
        try:
            stages = _stages({row["value"] for row in rows}, options)
        except _Unfit as unfit:
            found.unread[f"{task}, {', '.join(names)}"] = unfit.noted(names[0])
            continue
        _add(
            found, rows, options, stages, format="inspect", name=_slug(f"{task}-{group}"),
            concept=group, source=f"Inspect log, task {task}", judge_column="judge",
            only={"task": task, "name": names},
            item={"key": "item", "text": "judged", "system": "model" if models > 1 else ""},
            verdicts=[{"column": "value", "answer": "explanation"}],
        )  # fmt: skip
    if not options.truth and found.readings:
        found.notes.append(
            "No known grades: the targets are answers to the questions. A column with the right "
            "grade is named by --truth, such as --truth metadata.human."
        )


def _kind(name: str, rows: Rows) -> str:
    """Return which scorers are judges of the same: those with grades, and with pass and fail."""
    values = {row["value"] for row in rows} - {""}
    if values <= {*_GRADES, _NO_ANSWER}:
        return "grades"
    return "opposites" if any(values <= set(pair) for pair in _OPPOSITES) else name


def _of_promptfoo(found: Derived, rows: Rows, options: Options, files: RecordedFiles) -> None:
    name = _named_by(files)
    _check_chosen(options, {row["criterion"] for row in rows})
    by_criterion = _by(rows, "criterion")
    graded = any(row["graded"] == "true" for row in rows)
    for criterion, of_criterion in by_criterion.items():
        if options.criteria and criterion not in options.criteria:
            continue
        if (
            graded
            and not options.criteria
            and all(row["graded"] == "false" for row in of_criterion)
        ):
            found.unread[criterion] = "no model graded it"
            continue
        column = "score" if options.cuts else "pass"
        try:
            stages = _stages({row[column] for row in of_criterion}, options)
        except _Unfit as unfit:
            found.unread[criterion] = unfit.noted(criterion)
            continue
        models = len({row["model"] for row in of_criterion})
        several = len(by_criterion) > 1
        _add(
            found, of_criterion, options, stages, format="promptfoo",
            name=_slug(f"{name}-{criterion}" if several else name), concept=criterion[:200],
            source="promptfoo results", judge_column="judge", only={"criterion": criterion},
            item={"key": "item", "text": "output", "system": "model" if models > 1 else ""},
            verdicts=[{"column": column, "answer": "reason"}],
        )  # fmt: skip


def _of_alpaca_eval(found: Derived, rows: Rows, options: Options, files: RecordedFiles) -> None:
    ties = any(row["choice"] == "tie" for row in rows)
    names = ("first", "tie", "second") if ties else ("first", "second")
    stages = _Stages(names, {})
    ordered = all(row["swapped"] for row in rows)
    system = "generators" if len({row["generator_1"] for row in rows}) > 1 else "generator_2"
    several = len({row[system] for row in rows}) > 1
    found.weighted = sum(row["weighted"] == "true" for row in rows)
    _add(
        found, rows, options, stages, format="alpaca_eval", name=_named_by(files),
        concept="better answer", source="AlpacaEval annotations", judge_column="judge",
        swapped_column="swapped" if ordered else "",
        item={"key": "item", "title": "instruction", "text": "text",
              "system": system if several else "",
              **({"texts": {"output_1": 1, "output_2": len(names)}} if ordered else {})},
        verdicts=[
            {"column": "choice", "own_order": True, "answer": "answer", "preference": "preference"}
        ],
    )  # fmt: skip


def _of_rows(found: Derived, rows: Rows, options: Options, files: RecordedFiles) -> None:
    there = list(rows[0])
    if {"question_id", "judge"} <= set(there) and _of_mt_bench(found, rows, options, files):
        return
    columns = {role: _column(there, names) for role, names in _COLUMNS.items()}
    missing = [role for role in ("item", "judge", "verdict") if not columns[role]]
    if missing:
        wanted = "; ".join(f"{role}: {', '.join(_COLUMNS[role])}" for role in missing)
        raise ConfigError(
            f"No mapping is given, and no column is the {' or the '.join(missing)}. "
            f"The columns are {', '.join(map(repr, there[:12]))}.",
            f"Name them so ({wanted}), or say what they mean in a mapping file (--mapping). {READ}",
        )
    item, judge, verdict = (columns[role] for role in ("item", "judge", "verdict"))
    others = [column for column in there if column not in (item, judge, verdict)]
    system = _column(others, _COLUMNS["system"])
    several = len({_text(row, system) for row in rows}) > 1
    try:
        stages = _stages({str(_text(row, verdict)) for row in rows}, options)
    except _Unfit as unfit:
        _check_numbers(files, verdict)
        if unfit.scale is None:
            raise ConfigError(
                f"{verdict}: {unfit}.", "Name the stages in a mapping file."
            ) from unfit
        known = [_text(row, options.truth or columns["truth"]) for row in rows]
        scale = _covering(unfit.scale, known)
        stages = _Stages((), {}, scale)
        bands = "the nearest whole ones" if scale.is_whole else "ten equal bands"
        found.notes.append(f"{verdict}: {unfit}, and are read as {bands}. {unfit.cut} reads two.")
    _add(
        found, rows, options, stages, name=_named_by(files), concept=verdict,
        source="recorded judgements", judge_column=judge,
        item={"key": _key_of(rows, item, judge, system) if several else item,
              "text": columns["text"], "system": system if several else ""},
        verdicts=[{"column": verdict}], default_truth=columns["truth"],
    )  # fmt: skip


def _key_of(rows: Rows, item: str, judge: str, system: str) -> str:
    """Return what tells items apart: a question that several systems answered is several."""
    systems: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        systems[_text(row, item)].add(_text(row, system))
    answered = any(len(of) > 1 for of in systems.values())
    return f"{{{item}}} · {{{system}}}" if answered else item


def _of_mt_bench(found: Derived, rows: Rows, options: Options, files: RecordedFiles) -> bool:
    """Add the mapping of judgements of MT-bench (FastChat); returns whether they are that."""
    there, first = set(rows[0]), rows[0]
    judge = "judge[0]" if isinstance(first["judge"], list) else "judge"
    key = "{question_id}" + ("-{turn}" if "turn" in there else "")
    described = {
        "name": _named_by(files), "source": "MT-bench judgements", "judge_column": judge,
        "unlisted": "unreadable", "default_truth": "",
    }  # fmt: skip
    if {"model", "score"} <= there:
        scale = _Stages((), {}, Scale(lowest=1, highest=10))
        _add(
            found, rows, options, scale, concept="quality",
            item={"key": f"{key}-{{model}}", "system": "model"},
            verdicts=[
                {"column": "score", "answer": "judgment" if "judgment" in there else ""}
            ],
            **described,
        )  # fmt: skip
        return True
    if {"model_1", "model_2", "g1_winner", "g2_winner"} <= there:
        pair = "{model_1} and {model_2}"
        _add(
            found, rows, options, _Stages(("model_1", "tie", "model_2"), {}),
            concept="better answer",
            item={"key": f"{key}-{{model_1}}-{{model_2}}", "system": pair},
            verdicts=[
                {"column": "g1_winner", "own_order": True},
                {"column": "g2_winner", "own_order": True, "reversed": True},
            ],
            **described,
        )  # fmt: skip
        return True
    return False


def _check_numbers(files: RecordedFiles, column: str) -> None:
    """Raise `ConfigError` naming the first values that are no numbers, where most are."""
    given = [
        (file, row, value)
        for file, content in files.contents.items()
        for row in content.rows
        if (value := _text(row.values, column))
    ]
    stray = [one for one in given if as_number(one[2]) is None]
    if not stray or 2 * len(stray) > len(given):
        return
    places: dict[str, str] = {}
    for file, row, value in stray:
        places.setdefault(value, f"{value[:40]!r} ({file.name} {row.where})")
    named, more = list(places.values())[:_MOST], len(places) - _MOST
    commas = [value for value in places if as_number(value.replace(",", ".", 1)) is not None]
    remedies = (
        *(["Write a point in place of a decimal comma."] if commas else []),
        *(
            [
                "Leave a cell empty for an answer that could not be read, or say in a mapping file "
                "what a value stands for; `unlisted: unreadable` there counts others as unreadable."
            ]
            if len(commas) < len(places)
            else []
        ),
    )
    raise ConfigError(
        f"{_names(files)}: {column} is no number in {counted(len(stray), 'row')} of "
        f"{len(given):,}: {', '.join(named)}{f' and {more:,} more' if more > 0 else ''}.",
        " ".join(remedies),
    )


def _column(there: Sequence[str], names: Sequence[str]) -> str:
    """Return the column of the first of some names that is there, whatever its case; "" without."""
    named = {column.strip().casefold(): column for column in there}
    return next((named[name] for name in names if name in named), "")


def _add(
    found: Derived,
    rows: Rows,
    options: Options,
    stages: _Stages,
    *,
    item: dict[str, Any],
    default_truth: str = "",
    **mapping: Any,
) -> None:
    """Add a mapping; a column of known answers counts where each of them is a stage."""
    column = options.truth or item.get("truth") or default_truth
    truths: dict[str, int] = {}
    if column:
        written = {_text(row, column, strict=bool(options.truth)) for row in rows} - {""}
        stage_of = {
            value: stages.label(value) if options.truth else stages.same(value) for value in written
        }
        unknown = sorted(value for value, stage in stage_of.items() if stage is None)
        if unknown and options.truth:
            legal = ", ".join(map(repr, (*stages.decisions, *stages.names)))
            raise ConfigError(
                f"{column} is {unknown[0]!r}, which is no verdict: {legal}.",
                "Say what it stands for in a mapping file: see --show-mapping.",
            )
        if default_truth and not options.truth and written:
            found.notes.append(_truth_note(column, unknown))
        if unknown or not written:
            column = ""
        else:
            truths = {value: stage for value, stage in sorted(stage_of.items()) if stage}
    decisions = mapping.pop("decisions", stages.decisions)
    given = {
        **mapping,
        "repeats": mapping.get("format", "rows") != "rows",
        "scale": stages.scale,
        "stages": () if stages.scale else stages.names,
        "item": {**item, "truth": column},
        "truths": {} if stages.scale or not column else truths,
        "decisions": dict(sorted(decisions.items())),
    }
    found.readings.append(Recorded.model_validate(given))


def _truth_note(column: str, unknown: Sequence[str]) -> str:
    """Return whether a column was read as the known answers, and how to say otherwise."""
    if unknown:
        shown = ", ".join(map(repr, unknown[:3]))
        return (
            f"The column {column} is not read as the known answers: {shown} is no verdict. If it "
            f"has them, use --truth {shlex.quote(column)}, or item.truth and truths in a mapping "
            "file."
        )
    return (
        f"The known answers are the column {column}, whose values are verdicts. If it is something "
        "else, leave item.truth out of a mapping file."
    )


def _text(row: Mapping[str, Any], column: str, *, strict: bool = False) -> str:
    try:
        return text_at(column, Source(row, {"": ""}))
    except ColumnError as error:
        if not strict:
            return ""
        raise ConfigError(f"--truth is {column!r}: {error.what}.", error.remedy) from error


def _stages(values: Iterable[str], options: Options, *, named: bool = False) -> _Stages:
    """Return the stages of verdicts; raises `_Unfit` where they are none.

    `named` verdicts may be any words, in alphabetical order.
    """
    given = {value for value in values if value}
    if not given:
        raise _Unfit("no score is readable")
    if given <= {*_GRADES, _NO_ANSWER}:
        letters = [letter for letter in _GRADES if letter != "P" or "P" in given]
        decisions: dict[str, Choice] = {letter: at for at, letter in enumerate(letters, 1)}
        if _NO_ANSWER in given:
            decisions[_NO_ANSWER] = "abstained"
        return _Stages(tuple(_GRADES[letter] for letter in letters), decisions, written=False)
    for low, high in _OPPOSITES:
        if {value.casefold() for value in given} <= {low, high}:
            of = {value: 1 + (value.casefold() == high) for value in given}
            return _Stages((low, high), of)
    numbers = {value: number for value in given if (number := as_number(value)) is not None}
    if len(numbers) == len(given):
        return _of_numbers(numbers, options.cuts)
    if named and 2 <= len(given) <= _MOST:
        return _Stages(tuple(sorted(given)), {name: at for at, name in enumerate(sorted(given), 1)})
    shown = ", ".join(map(repr, sorted(given - set(numbers))[:3]))
    raise _Unfit(f"verdicts such as {shown} have no order that is known")


def _of_numbers(numbers: Mapping[str, float], cuts: Sequence[float]) -> _Stages:
    if cuts:
        edges = sorted(cuts)
        names = (f"below {edges[0]:g}", *(f"{edge:g} or more" for edge in edges))
        return _Stages(names, {value: _cut(number, edges) for value, number in numbers.items()},
                       cuts=edges, written=False)  # fmt: skip
    distinct = sorted(set(numbers.values()))
    if len(distinct) < 2:
        raise _Unfit(f"the score is always {distinct[0]:g}")
    lowest, highest = int(distinct[0]), int(distinct[-1])
    if all(number.is_integer() for number in distinct) and highest - lowest < _MOST:
        return _Stages((), {}, Scale(lowest=lowest, highest=highest))
    if len(distinct) > _MOST:
        raise _Unfit(
            f"{len(distinct)} scores from {distinct[0]:g} to {distinct[-1]:g} are more than "
            f"{_MOST} stages",
            scale=_scale(distinct[0], distinct[-1]),
        )
    return _Stages(
        tuple(f"{number:g}" for number in distinct),
        {value: distinct.index(number) + 1 for value, number in numbers.items()},
    )


def _scale(lowest: float, highest: float) -> Scale:
    whole = lowest.is_integer() and highest.is_integer()
    return Scale(
        lowest=int(lowest) if whole else lowest, highest=int(highest) if whole else highest
    )


def _covering(scale: Scale, known: Iterable[str]) -> Scale:
    """Return a scale that has the known answers, too, where all of them are numbers."""
    written = {value for value in known if value}
    numbers = [number for value in written if (number := as_number(value)) is not None]
    if len(numbers) < len(written):
        return scale
    ends = [float(scale.lowest), float(scale.highest), *numbers]
    return _scale(min(ends), max(ends))


def _cut(number: float, cuts: Sequence[float]) -> int:
    return 1 + sum(number >= cut for cut in cuts)


def _by(rows: Rows, column: str) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row.get(column, ""), []).append(row)
    return found


def _check_chosen(options: Options, names: Collection[str]) -> None:
    for name in options.criteria:
        if name not in names:
            raise ConfigError(
                f"--scorer is {name!r}, and no judgement is of it.",
                f"Use one of {', '.join(map(repr, sorted(filter(None, names))))}.",
            )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:80] or "recorded"


def mapping_text(recorded: Recorded) -> Mapping[str, Any]:
    """Return a mapping as it is written in a file: what differs from the defaults."""
    return recorded.model_dump(mode="json", exclude_defaults=True)
