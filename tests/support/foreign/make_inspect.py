"""Makes Inspect logs with Inspect itself: `python make_inspect.py FOLDER`, in its environment.

- `judging-*.eval`: two models judge six answers, three times each; the target is the known verdict.
- `grading.eval`: four scorers grade the answers of a model to six questions, twice.
- `cancelled.eval`: an eval that Ctrl-C ended after some samples.
- `short.json`: two scorers of three answers, as a JSON log.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Target, includes, match, mean, model_graded_qa, scorer
from inspect_ai.solver import Generate, TaskState, generate, solver

ITEMS = json.loads((Path(__file__).parent / "answers.json").read_text())
TEMPLATE = "Question: {question}\nAnswer: {answer}\nKnown answer: {criterion}\n{instructions}"
WORDS = ("ten", "two", "80", "one hour", "twenty")


def mock(name: str, answer: Any) -> Model:
    """Return a model that answers by a function of the last message."""

    def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        said = ModelOutput.from_content(f"mockllm/{name}", answer(messages[-1].text))
        # Otherwise Inspect counts tokens with a vocabulary that it downloads.
        said.usage = ModelUsage(input_tokens=20, output_tokens=5, total_tokens=25)
        return said

    return get_model(f"mockllm/{name}", custom_outputs=output, memoize=False)


def strict(text: str) -> str:
    """Return good for an answer with a number of our list."""
    return "good" if any(word in text for word in WORDS) else "bad"


def lenient(text: str) -> str:
    """Return good for water too; refuses salt."""
    if "mineral" in text or "litre" in text:
        return "I would rather not say."
    return "good" if "ater" in text or strict(text) == "good" else "bad"


def answered(text: str) -> str:
    """Return the first answer to a question of our list."""
    return next(item["answers"][0] for item in ITEMS if item["question"] in text)


def graded(text: str) -> str:
    """Return a grade of Inspect's model-graded scorer for the submission in a prompt."""
    submission = text.split("Answer: ")[-1].split("\n")[0]
    if "warm" in submission:
        return "I cannot grade this."
    grade = "C" if strict(submission) == "good" else "P" if "ater" in submission else "I"
    return f"It is about cooking.\nGRADE: {grade}"


@scorer(metrics={"*": [mean()]})
def style() -> Any:
    """Mark two criteria from 1 to 5."""

    async def score(state: TaskState, target: Target) -> Score:
        words = len(state.output.completion.split())
        return Score(value={"short": 5 - words // 3, "clear": 1 + words % 5}, explanation="words")

    return score


@scorer(metrics=[mean()])
def length() -> Any:
    """Score the length from 0 to 1; the soup's answer has none."""

    async def score(state: TaskState, target: Target) -> Score | None:
        if "warm" in state.output.completion:
            return None
        return Score(value=round(len(state.output.completion) / 50, 2))

    return score


@solver
def fails_on_bread() -> Any:
    """Raise an error for one sample."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == "bread" and state.epoch == 2:
            raise RuntimeError("the oven is off")
        return state

    return solve


@solver
def stops_at_bread() -> Any:
    """Press Ctrl-C at one sample."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == "bread":
            os.kill(os.getpid(), signal.SIGINT)
        return state

    return solve


def run(task: Task, model: Model, folder: Path, **more: Any) -> Path:
    """Evaluate, and return the log's file."""
    eval(
        task,
        model=model,
        log_dir=str(folder / "logs"),
        display="none",
        max_samples=1,
        fail_on_error=False,
        **more,
    )
    return max((folder / "logs").iterdir(), key=lambda file: file.stat().st_mtime_ns)


def keep(made: Path, file: Path) -> None:
    """Write a log again without the tracebacks, which name files of this machine."""
    log = read_eval_log(str(made))
    for sample in log.samples or []:
        events = [event.error for event in sample.events if event.event == "error"]
        for error in (sample.error, *events):
            if error is not None:
                error.traceback = error.traceback_ansi = ""
    write_eval_log(log, str(file))


def main(folder: Path) -> None:
    """Make every log."""
    judged = MemoryDataset(
        [
            Sample(
                id=item["id"],
                input=f"Is this answer good or bad?\n{item['answers'][0]}",
                target=item["label"],
                metadata={"topic": item["question"]},
            )
            for item in ITEMS
        ]
    )
    for name, answer in (("strict", strict), ("lenient", lenient)):
        made = run(
            Task(
                name="judging",
                dataset=judged,
                solver=[fails_on_bread(), generate()],
                scorer=match(),
                epochs=3,
            ),
            mock(name, answer),
            folder,
        )
        keep(made, folder / f"judging-{name}.eval")
    asked = MemoryDataset(
        [Sample(id=item["id"], input=item["question"], target=item["target"]) for item in ITEMS]
    )
    scorers = [
        includes(),
        model_graded_qa(TEMPLATE, "Grade it.", model=mock("grader", graded)),
        style(),
        length(),
    ]
    made = run(
        Task(name="grading", dataset=asked, solver=generate(), scorer=scorers, epochs=2),
        mock("cook", answered),
        folder,
    )
    keep(made, folder / "grading.eval")
    made = run(
        Task(
            name="stopped", dataset=asked, solver=[stops_at_bread(), generate()], scorer=includes()
        ),
        mock("cook", answered),
        folder,
    )
    keep(made, folder / "cancelled.eval")
    made = run(
        Task(name="short", dataset=asked[:3], solver=generate(), scorer=scorers[:2]),
        mock("cook", answered),
        folder,
        log_format="json",
    )
    keep(made, folder / "short.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
