"""Judges for products: one way to grade, decide and compare texts, calibrated before it is trusted.

A judge is a frozen value, read from a YAML file or built in Python::

    from judge_gym.judges import Criterion, Item, RubricJudge, load_judge, read_items

    judge = RubricJudge(
        name="notes",
        model="openai/gpt-4.1-mini",
        task="Grade a research note for a reader who has to decide something.",
        criteria=(
            Criterion(name="evidence", description="Claims have figures or sources.", weight=2),
            Criterion(name="actionable", description="It says what to do next."),
        ),
    )
    judge = Judge.from_file("deployments/judges/notes.yaml")
    judge = CallableJudge.of(my_function, scale=Scale(lowest=1, highest=5))

    result = judge.score("A text.")  # in a script, or in a notebook
    results = judge.score_batch(read_items(Path("items.jsonl")), repeats=3, concurrency=8)
    result = await judge.ascore("A text.")  # in async code; `ascore_batch` likewise

Kinds, and what their `score` is:

- `RubricJudge`: the model marks each criterion on the judge's `Scale`; `subscores` holds the
  marks, and `score` is their mean by the criteria's weights, computed here, on the same scale.
- `BinaryJudge`: one of two named verdicts; `score` is 1 for the first named and 0 for the second.
- `PairwiseJudge`: which of an item's two texts is better, always asked in both orders. `score` is
  1 for the first text (`Item.text`), 0 for the second (`Item.second`), 0.5 for a tie where ties
  are allowed; `subscores` has the same for each order, `as_given` and `swapped`. When the two
  orders disagree the status is `inconsistent`, and there is no score.
- `EnsembleJudge`, `RoutedJudge`: several judges as one (see `composite`).
- `panel.judge.PanelJudge`: a panel; its score is the arbiter's, `subscores` rater → its own.
- `CallableJudge`, `HttpJudge`: a function or an endpoint of your own (see `own_judges`).

Every result is a `JudgeResult` with a status: `scored`, `inconsistent`, `unparseable`, `refused` or
`failed`. Only `scored` has a score; nothing else is ever turned into one. An answer that cannot be
read is asked for once more, in the same conversation.

Everything is kept: the judge by the hash of its configuration and prompt (`Judge.key`), the item
by that of its texts (`Item.key`), and one result of each judge, item and repeat. Asked again for
the same, nothing is sent. A label (`Item.truth`), a name or a file is no part of an item: changing
one costs nothing, and a text that is there twice is judged once. Every call is a row of
`llm_calls`; the results name them in `call_ids`. Calls of repeats differ in their seed, and share
no answer.

`judging.judge_items(runtime, judge, items, ...)` is the same with a runtime already open.
"""

from collections.abc import Sequence
from typing import Any

from judge_gym.judges.base import Judge
from judge_gym.judges.binary_judge import BinaryJudge, VerdictName
from judge_gym.judges.composite import EnsembleJudge, RoutedJudge
from judge_gym.judges.files import AnyJudge, load_judge
from judge_gym.judges.item_files import ItemFile, read_item_file, read_items
from judge_gym.judges.label_files import (
    LabelFile,
    collect_labels,
    new_label,
    read_labels,
    write_labels,
)
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.own_judges import CallableJudge, HttpJudge
from judge_gym.judges.pairwise_judge import PairwiseJudge
from judge_gym.judges.rubric_judge import Criterion, RubricJudge
from judge_gym.judges.scale import Scale
from judge_gym.records.items import Item, Variant
from judge_gym.records.judgements import JudgeResult, JudgeStatus


async def _judge_all(judge: Judge, items: Sequence[Item], **options: Any) -> list[JudgeResult]:
    # The database and litellm, which reading a judge file must not pay.
    from judge_gym.judges.judging import judge_items
    from judge_gym.runtime import runtime

    async with runtime() as current:
        return await judge_items(current, judge, items, **options)


Judge.load, Judge.judge_all = load_judge, _judge_all

__all__ = [
    "AnyJudge",
    "BinaryJudge",
    "CallableJudge",
    "Criterion",
    "EnsembleJudge",
    "HttpJudge",
    "Item",
    "ItemFile",
    "Judge",
    "JudgeResult",
    "JudgeStatus",
    "LabelFile",
    "ModelJudge",
    "PairwiseJudge",
    "RoutedJudge",
    "RubricJudge",
    "Scale",
    "Variant",
    "VerdictName",
    "collect_labels",
    "load_judge",
    "new_label",
    "read_item_file",
    "read_items",
    "read_labels",
    "write_labels",
]
