"""Results of promptfoo and annotations of AlpacaEval: a row for each judgement."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from judge_gym.design.config import corpus_suffix
from judge_gym.design.rubric import FIRST, SECOND, TIE
from judge_gym.errors import DataFileError
from judge_gym.evidence.row import DataRow
from judge_gym.evidence.rows import read_rows
from judge_gym.recorded.content import DAMAGED, Content, Left, read_json, written
from judge_gym.recorded.mapping import as_number

_GRADED = (
    "llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality", "g-eval",
    "answer-relevance", "context-recall", "context-relevance", "context-faithfulness",
    "conversation-relevance", "search-rubric", "agent-rubric", "video-rubric", "select-best",
    "pi", "trajectory:goal-success",
)  # fmt: skip
"""Assertions of promptfoo that a model grades, also where no grader is named."""
_NO_GRADE = re.compile(
    r"No output|No embedding|Embedding not found|Error parsing output: .*|Unknown error.*"
    r"|LLM-proposed evaluation (steps|result) (are|is) not in JSON format.*"
    r"|(\w+ )?API key is not set.*"
    r"|Error: (Request timed out|API |fetch failed|connect |Network |Could not parse).*"
    r"|HTTP call failed with status.*"
    r"|Could not (extract JSON from|perform remote grading).*|Invalid select-best verdict.*"
    r"|Factuality checker output did not match expected format.*"
    r"|[\w-]+( grader)? produced (a )?malformed response.*"
    r"|(\w+ )?API (call |response )?error.*|Rate limit exceeded.*|Request timed out.*",
    re.DOTALL,
)
"""Reasons of promptfoo before 0.120 for an assertion whose grader gave no grade."""


def read_promptfoo(file: Path) -> Content:
    """Return the assertions of a results file (JSON, or a result a line); raises `DataFileError`.

    A grader that gave no readable answer is an unreadable judgement, which promptfoo counts as a
    failed assertion.
    """
    content = Content()
    results, default_grader = _results(file)
    sums: dict[str, list[float]] = {}
    for number, result in enumerate(results, start=1):
        if not isinstance(result, dict):
            raise DataFileError(f"{file} result {number}: not an object.", "Export it again.")
        test = str(result.get("testIdx", number - 1))
        provider = result.get("provider") or {}
        model = str(provider.get("label") or provider.get("id") or "") if provider else ""
        place = f"result {number} (test {test}, {model})"
        grading = result.get("gradingResult") or {}
        alone = [grading] if grading.get("assertion") else []
        assertions = grading.get("componentResults") or alone
        if not assertions:
            error = str(result.get("error") or "no assertion")[:200]
            why = Left.ERROR if result.get("error") else Left.NO_SCORE
            content.leave(why, f"{place}: {error}", file.name)
            continue
        prompt = result.get("prompt") or {}
        case = result.get("testCase") or {}
        shared = {
            "tool": "promptfoo",
            "file": file.name,
            "id": str(result.get("id") or ""),
            "test": test,
            "model": model,
            "prompt": str(prompt.get("label") or prompt.get("display") or prompt.get("raw") or ""),
            "input": str(prompt.get("raw") or ""),
            "output": _text((result.get("response") or {}).get("output")),
            "description": str(case.get("description") or ""),
            "vars": result.get("vars") or {},
        }
        for metric, score in (grading.get("namedScores") or {}).items():
            sums.setdefault(str(metric), []).append(float(score))
        default = _provider((case.get("options") or {}).get("provider")) or default_grader
        _add_assertions(content, place, shared, assertions, default)
    content.reported = {metric: _means(content, metric, of) for metric, of in sums.items()}
    return content


def _means(content: Content, metric: str, scores: Sequence[float]) -> tuple[float, ...]:
    """Return the mean of a metric by assertion and by result; promptfoo sums or averages each."""
    assertions = sum(row.values["criterion"] == metric for row in content.rows)
    return tuple(sum(scores) / count for count in (assertions, len(scores)) if count)


def _results(file: Path) -> tuple[Iterable[Any], str]:
    """Return the results of a file, and the grader that assertions without one have."""
    if corpus_suffix(file) != ".json":
        return (_values(file, row) for row in read_rows(file)), ""
    value = read_json(file)
    results = value.get("results") if isinstance(value, dict) else None
    if isinstance(results, dict):
        results = results.get("results")
    if not isinstance(results, list):
        raise DataFileError(f"{file}: no results of promptfoo: it has no list `results`.", DAMAGED)
    default = (value.get("config") or {}).get("defaultTest")
    options = default.get("options") if isinstance(default, dict) else None
    return results, _provider((options or {}).get("provider"))


def _add_assertions(
    content: Content,
    place: str,
    shared: Mapping[str, Any],
    assertions: Iterable[Mapping[str, Any]],
    default_grader: str,
) -> None:
    seen: Counter[tuple[str, str, str]] = Counter()
    asked: dict[tuple[str, str, str], str] = {}
    rows = []
    checks: dict[str, str] = {}
    for result in assertions:
        assertion = result.get("assertion") or {}
        kind = str(assertion.get("type") or "assertion")
        metadata = result.get("metadata") or {}
        grader = _provider(assertion.get("provider"))
        graded = (
            grader
            or kind.removeprefix("not-") in _GRADED
            or "renderedGradingPrompt" in metadata
            or metadata.get("graderError")
        )
        reason = str(result.get("reason") or "")
        no_grade = metadata.get("graderError") or (graded and _NO_GRADE.fullmatch(reason))
        rubric = str(assertion.get("value") or "") if graded else ""
        if rubric and kind.startswith("not-"):  # it passes where the rubric is not met
            rubric = f"not: {rubric}"
        criterion = str(assertion.get("metric") or rubric)
        judge = grader or (default_grader if graded else "") or kind
        if asked.setdefault((kind, criterion, judge), rubric) != rubric:
            content.note(_several_rubrics(criterion, judge))
        seen[kind, criterion, judge] += 1
        if (times := seen[kind, criterion, judge]) > 1:
            judge = f"{judge} ({times})"
        rows.append(
            {
                **shared,
                "assertion": kind,
                "criterion": criterion or (kind if graded else ""),
                "judge": judge,
                "graded": "true" if graded else "false",
                "pass": "" if no_grade else written(result.get("pass")) or "",
                "score": "" if no_grade else written(result.get("score")) or "",
                "reason": reason,
            }
        )
        checks[criterion or kind] = rows[-1]["pass"]
    for row in rows:
        content.add(place, {**row, "checks": checks})


def _several_rubrics(metric: str, judge: str) -> str:
    return (
        f"{metric}: several rubrics have this metric and are read as judges of one thing, "
        f"{judge} and {judge} (2). Give each a metric of its own if they ask different questions."
    )


def _provider(provider: Any) -> str:
    """Return the model of an assertion; promptfoo writes its id, or the id with its settings."""
    if isinstance(provider, dict):
        inner = provider.get("text")
        return _provider(inner) if inner else str(provider.get("label") or provider.get("id") or "")
    return str(provider or "")


def _text(output: Any) -> str:
    return output if isinstance(output, str) else "" if output is None else str(output)


def read_alpaca_eval(file: Path) -> Content:
    """Return the preferences of an annotations file; raises `DataFileError` for one of no kind.

    A preference is 1, 2, 1.5 for a tie, or between 1 and 2 where it is weighted by probabilities.
    """
    content = Content()
    for number, row in enumerate(read_rows(file), start=1):
        values = _values(file, row)
        given = "" if _is_of_no_grader(values) else written(values.get("preference"))
        value = as_number(given or "")
        if given is None or (value is not None and not (value == 0 or 1 <= value <= 2)):
            raise row.error(
                file, f"preference is {values.get('preference')!r}", "It is 1, 2, or between them."
            )
        given = "" if value is None else given
        switched = values.get("is_switched_outputs")
        generators = [str(values.get(f"generator_{place}") or "") for place in (1, 2)]
        content.add(
            f"annotation {number}",
            {
                "tool": "alpaca_eval",
                "file": file.name,
                "judge": str(values.get("annotator") or values.get("annotator_index") or ""),
                "choice": _choice(value),
                "weighted": "true" if value not in (None, 0, 1, 1.5, 2) else "false",
                "preference": given,
                "swapped": "" if switched is None else written(bool(switched)),
                "instruction": str(values.get("instruction") or ""),
                "output_1": str(values.get("output_1") or ""),
                "output_2": str(values.get("output_2") or ""),
                "generator_1": generators[0],
                "generator_2": generators[1],
                "generators": " vs ".join(generators) if any(generators) else "",
                "answer": _raw(values),
            },
        )
    return content


def _is_of_no_grader(values: Mapping[str, Any]) -> bool:
    """Whether a row has a preference that no answer gave: -1, or with an empty completion, but for
    equal outputs, which AlpacaEval makes a tie without asking."""
    if as_number(str(values.get("preference"))) == -1:
        return True
    keys = {"preference_raw_completion", "raw_completion"} & set(values)
    outputs = [values.get(f"output_{place}") for place in (1, 2)]
    return bool(keys) and not _raw(values).strip() and outputs[0] != outputs[1]


def _choice(preference: float | None) -> str:
    """Return the stage of a preference; before version 0.2 a tie was 0."""
    if preference is None:
        return ""
    if preference in (0, 1.5):
        return TIE
    return FIRST if preference < 1.5 else SECOND


def _raw(values: Mapping[str, Any]) -> str:
    return _text(values.get("preference_raw_completion") or values.get("raw_completion"))


def _values(file: Path, row: DataRow) -> dict[str, Any]:
    if row.fault:
        raise row.error(file, row.fault, "Export it again.")
    return row.values
