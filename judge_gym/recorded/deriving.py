"""Mappings of files whose format says what their columns mean.

Each is a `Recorded` like one that a user writes, so it can be printed, edited and given back.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from judge_gym.errors import ConfigError
from judge_gym.recorded.content import Left
from judge_gym.recorded.derived import (
    Derived,
    Options,
    Rows,
    add_mapping,
    check_chosen,
    named_by,
    names_of,
    rows_by,
    slug,
)
from judge_gym.recorded.derived_stages import (
    GRADES,
    MOST,
    NO_ANSWER,
    OPPOSITES,
    Stages,
    Unfit,
    stages_from,
)
from judge_gym.recorded.deriving_rows import of_rows
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.formats import READ, Format
from judge_gym.recorded.mapping import Recorded

_WHY = {
    Left.NOT_READ: " (a score that is neither text nor a number)",
}
"""Why a record is no judgement, where its name does not say it."""


def derived(files: RecordedFiles, kind: Format, options: Options) -> Derived:
    """Return the mappings of files; raises `ConfigError` where none can be derived."""
    rows = [row.values for content in files.contents.values() for row in content.rows]
    left = [
        f"{one}{_WHY.get(why, '')}"
        for content in files.contents.values()
        for why, of in content.left.items()
        for one in of
    ]
    if not rows:
        headers = [of.left.get(Left.NO_SAMPLES, []) for of in files.contents.values()]
        if headers and all(headers):
            raise ConfigError(
                f"{names_of(files)}: the log has no samples, so there is no judgement to read.",
                "It is a header only, or the eval ran with log_samples off. Give the whole log, or "
                "run the eval again with log_samples on.",
            )
        raise ConfigError(f"{names_of(files)}: no judgement of {kind}.", _first(left) or READ)
    found = Derived(notes=[note for content in files.contents.values() for note in content.notes])
    for task in {content.task for content in files.contents.values()} - {
        "",
        *rows_by(rows, "task"),
    }:
        of_task = [one for one in files.contents.values() if one.task == task]
        none = [str(one) for content in of_task for of in content.left.values() for one in of]
        found.unread[task] = f"no judgement. {_first(none)}"
    make = {
        "inspect": _of_inspect, "promptfoo": _of_promptfoo, "alpaca_eval": _of_alpaca_eval,
        "rows": of_rows, "qrels": of_rows,
    }[kind]  # fmt: skip
    make(found, rows, options, files)
    if not found.readings:
        why = "; ".join(f"{name}: {reason}" for name, reason in found.unread.items())
        cut = next(iter(re.findall(r"--cut \S+", why)), "--cut")
        raise ConfigError(
            f"{names_of(files)}: no judgement to compare: {why}.",
            f"Name the scores at which a stage begins with {cut}, or write a mapping file.",
        )
    return found


def _first(left: Sequence[str]) -> str:
    more = f"; and {len(left) - 3:,} more" if len(left) > 3 else ""
    return f"It has: {'; '.join(left[:3])}{more}." if left else ""


def _of_inspect(found: Derived, rows: Rows, options: Options, _: RecordedFiles) -> None:
    check_chosen(options, {row["name"] for row in rows} | {row["scorer"] for row in rows})
    for task, of_task in rows_by(rows, "task").items():
        by_name = {
            name: of_name
            for name, of_name in rows_by(of_task, "name").items()
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
    if not 2 <= len(targets) <= min(MOST, len(samples) - 1) or "" in targets:
        return False
    names = {target.casefold() for target in targets}
    return 2 * sum(row["answer"].strip().casefold() in names for row in rows) >= len(rows)


def _add_models(found: Derived, task: str, name: str, rows: Rows, options: Options) -> None:
    stages = stages_from({row["target"] for row in rows}, options.cuts, named=True)
    answers = {row["answer"].strip() for row in rows} - {""}
    decisions = {answer: stage for answer in answers if (stage := _named(stages, answer))}
    add_mapping(
        found, rows, options, stages, format="inspect", name=slug(task), concept=name,
        source=f"Inspect log, task {task}", judge_column="model", only={"task": task, "name": name},
        item={"key": "sample", "text": "input", "truth": "target"},
        verdicts=[{"column": "answer", "answer": "output"}], decisions=decisions,
        unlisted="unreadable",
    )  # fmt: skip


def _named(stages: Stages, answer: str) -> int | None:
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
            stages = stages_from({row["value"] for row in rows}, options.cuts)
        except Unfit as unfit:
            found.unread[f"{task}, {', '.join(names)}"] = unfit.noted(names[0])
            continue
        add_mapping(
            found, rows, options, stages, format="inspect", name=slug(f"{task}-{group}"),
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
    if values <= {*GRADES, NO_ANSWER}:
        return "grades"
    return "opposites" if any(values <= set(pair) for pair in OPPOSITES) else name


def _of_promptfoo(found: Derived, rows: Rows, options: Options, files: RecordedFiles) -> None:
    name = named_by(files)
    check_chosen(options, {row["criterion"] for row in rows})
    by_criterion = rows_by(rows, "criterion")
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
            stages = stages_from({row[column] for row in of_criterion}, options.cuts)
        except Unfit as unfit:
            found.unread[criterion] = unfit.noted(criterion)
            continue
        models = len({row["model"] for row in of_criterion})
        several = len(by_criterion) > 1
        add_mapping(
            found, of_criterion, options, stages, format="promptfoo",
            name=slug(f"{name}-{criterion}" if several else name), concept=criterion[:200],
            source="promptfoo results", judge_column="judge", only={"criterion": criterion},
            item={"key": "item", "text": "output", "system": "model" if models > 1 else ""},
            verdicts=[{"column": column, "answer": "reason"}],
        )  # fmt: skip


def _of_alpaca_eval(found: Derived, rows: Rows, options: Options, files: RecordedFiles) -> None:
    ties = any(row["choice"] == "tie" for row in rows)
    names = ("first", "tie", "second") if ties else ("first", "second")
    stages = Stages(names, {})
    ordered = all(row["swapped"] for row in rows)
    system = "generators" if len({row["generator_1"] for row in rows}) > 1 else "generator_2"
    several = len({row[system] for row in rows}) > 1
    found.weighted = sum(row["weighted"] == "true" for row in rows)
    add_mapping(
        found, rows, options, stages, format="alpaca_eval", name=named_by(files),
        concept="better answer", source="AlpacaEval annotations", judge_column="judge",
        swapped_column="swapped" if ordered else "",
        item={"key": "item", "title": "instruction", "text": "text",
              "system": system if several else "",
              **({"texts": {"output_1": 1, "output_2": len(names)}} if ordered else {})},
        verdicts=[
            {"column": "choice", "own_order": True, "answer": "answer", "preference": "preference"}
        ],
    )  # fmt: skip


def mapping_text(recorded: Recorded) -> Mapping[str, Any]:
    """Return a mapping as it is written in a file: what differs from the defaults."""
    return recorded.model_dump(mode="json", exclude_defaults=True)
