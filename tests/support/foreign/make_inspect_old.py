"""Makes JSON logs with Inspect before 0.3.96: `python make_inspect_old.py FOLDER`, in its own venv.

`old-strict.json` and `old-lenient.json`: two graders grade what a model wrote to three questions
in two epochs, each time another text. `old-header.json`: a run with `log_samples` off.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, model_graded_qa
from inspect_ai.solver import generate

ITEMS = json.loads((Path(__file__).parent / "answers.json").read_text())[:3]
GRADES = {"strict": "CICIIC", "lenient": "CCCCIC"}
EPOCHS = 2


def mock(name: str, texts: list[str]) -> Model:
    """Return a model that writes these texts, one after the other."""

    def outputs() -> Iterator[ModelOutput]:
        for text in texts:
            said = ModelOutput.from_content(f"mockllm/{name}", text)
            # Otherwise Inspect counts tokens with a vocabulary that it downloads.
            said.usage = ModelUsage(input_tokens=20, output_tokens=5, total_tokens=25)
            yield said

    return get_model(f"mockllm/{name}", custom_outputs=outputs(), memoize=False)


def make(name: str, grades: str, folder: Path, *, samples: bool = True) -> None:
    """Grade the answers by these grades, in the order of samples and epochs."""
    asked = [Sample(id=one["id"], input=one["question"], target=one["target"]) for one in ITEMS]
    answers = [f"{one['answers'][0]} ({epoch})" for epoch in (1, 2) for one in ITEMS]
    grader = mock(name, [f"It is about cooking.\nGRADE: {grade}" for grade in grades])
    task = Task(
        name="old",
        dataset=MemoryDataset(asked),
        solver=generate(),
        scorer=[includes(), model_graded_qa(model=grader)],
        epochs=EPOCHS,
    )
    [log] = eval(
        task, model=mock("cook", answers), log_dir=str(folder / "logs"), log_format="json",
        display="none", max_samples=1, log_samples=samples,
    )  # fmt: skip
    kept = json.loads(Path(log.location.removeprefix("file://")).read_text())
    for sample in kept.get("samples") or []:
        for key in ("events", "messages", "store", "attachments"):
            sample.pop(key, None)
        for score in sample["scores"].values():
            score.pop("metadata", None)
    kept["eval"]["packages"] = {"inspect_ai": kept["eval"]["packages"]["inspect_ai"]}
    kept["eval"].pop("revision", None)
    (folder / f"old-{name}.json").write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    to = Path(sys.argv[1])
    for grader, grades in GRADES.items():
        make(grader, grades, to)
    make("header", GRADES["strict"], to, samples=False)
