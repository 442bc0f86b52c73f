"""What every judge has: a name, an identity, and `score` and `score_batch`."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import Field, ValidationError

from judge_gym.answers.contradiction import contradicted_mark, contradicted_verdict
from judge_gym.design.config import fault_reason, shown
from judge_gym.design.fields import Frozen, ModelName
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError
from judge_gym.judges.certify_rule import CertifyRule
from judge_gym.judges.gate_rule import GateRule
from judge_gym.judges.labels import label_of_verdict, label_on_scale
from judge_gym.judges.provenance import Provenance
from judge_gym.model_names import is_simulated_model
from judge_gym.records.items import Item, Label
from judge_gym.records.judgements import JudgeRecord, JudgeResult
from judge_gym.seeds import digest

NOT_STORED = {"gate", "certify", "provenance", "reason_critic"}
"""Fields that are said of a judge and are no part of how it is stored."""
NOT_IDENTITY = {"name", "budget", *NOT_STORED}
T = TypeVar("T")


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine comes to; in a thread where an event loop runs, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()


def unfit(called: str, error: ValidationError) -> ConfigError:
    """Return what is wrong with something made in Python, its first fault."""
    fault = error.errors()[0]
    named = ".".join(map(str, fault["loc"])) or "what is given"
    reason = fault_reason(fault)
    return ConfigError(f"{called}: {named} is {shown(fault['input'])}: {reason}.")


class ReasonCritic(Frozen):
    """A model that reads whether each reason fits the score or verdict beside it."""

    model: ModelName
    """The model that reads the reasons, as provider/model; better not the judge's own."""
    budget: Budget | None = None
    """What it may use in all, apart from the judge's own budget."""


class Judge(Frozen):
    """A judge of single texts or of pairs; see the package for its kinds."""

    load: ClassVar[Callable[[str | Path], "Judge"]]
    """Reads a judge file. The package sets it, since a kind of judge does not know the others."""
    judge_all: ClassVar[Callable[..., Awaitable[list[JudgeResult]]]]
    """Judges items with a runtime of its own; the package sets it, for the same reason."""

    kind: str
    name: str = Field(min_length=1, max_length=100)
    """What people call it; no part of its identity."""
    gate: GateRule | None = None
    """What it has to reach in `judge-gym judge gate`; no part of its identity."""
    certify: CertifyRule | None = None
    """What `judge-gym judge certify` has to show of it; no part of its identity."""
    provenance: Provenance | None = None
    """How `judge-gym judge align` made it; no part of its identity."""
    reason_critic: ReasonCritic | None = None
    """A model that reads whether reasons contradict their scores, in `judge score` and
    `judge calibrate`; no part of its identity."""

    @cached_property
    def key(self) -> str:
        """16-digit identity: all that can change an answer; see `NOT_IDENTITY` for what cannot."""
        return digest("judge", self.identity, self.prompt_hash)

    @property
    def identity(self) -> dict[str, Any]:
        """What of its fields can change an answer."""
        return self.model_dump(mode="json", exclude=NOT_IDENTITY)

    @property
    def config(self) -> dict[str, Any]:
        """Its fields as they are stored."""
        return self.model_dump(mode="json", exclude=NOT_STORED)

    @property
    def made_of(self) -> "tuple[Judge, ...]":
        """The judges that are asked where it is; none but for one that is made of judges."""
        return ()

    @property
    def leaves(self) -> "tuple[Judge, ...]":
        """The judges that answer: itself, or those that it is made of, each once."""
        inner = (leaf for one in self.made_of for leaf in one.leaves)
        return tuple({leaf.key: leaf for leaf in inner}.values()) or (self,)

    @property
    def answerers(self) -> tuple[str, ...]:
        """The models, functions or addresses that answer."""
        names = (
            name
            for leaf in self.leaves
            for name in ((self.answered_by,) if leaf is self else leaf.answerers)
        )
        return tuple(dict.fromkeys(names))

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it asks itself; none for one of one's own, or made of judges."""
        return ()

    @property
    def calls_per_item(self) -> int:
        """The most calls for one judgement of an item; an unparseable answer is retried once."""
        return sum(one.calls_per_item for one in self.made_of)

    @property
    def called(self) -> str:
        """What messages call it."""
        return f"Judge {self.name!r}"

    @property
    def prompt_hash(self) -> str:
        """The hash of what it is asked with; empty when that is not known here."""
        return ""

    @property
    def answered_by(self) -> str:
        """The model, function or address that answers."""
        raise NotImplementedError

    @property
    def is_simulated(self) -> bool:
        """Whether the simulator plays any of what answers."""
        return any(map(is_simulated_model, self.answerers))

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its subscores, in order, where they are known."""
        return ()

    @property
    def asks_model(self) -> bool:
        """Whether its answers are calls of the ledger."""
        return False

    @cached_property
    def record(self) -> JudgeRecord:
        """The judge as the store takes it."""
        return JudgeRecord(
            key=self.key,
            name=self.name,
            kind=self.kind,
            model=self.answered_by,
            config=self.config,
            parts=self.parts,
            asks_model=self.asks_model,
            answerers=self.answerers,
        )

    @property
    def score_range(self) -> tuple[float, float]:
        """The lowest and the highest score; a verdict is 0 or 1."""
        scale = getattr(self, "scale", None)
        return (scale.lowest, scale.highest) if scale is not None else (0.0, 1.0)

    @property
    def judges_pairs(self) -> bool:
        return False

    @property
    def verdict_scores(self) -> dict[str, float]:
        """Verdict → its score, of a judge that decides between some; empty for one of scores."""
        return {}

    @property
    def decides(self) -> bool:
        """Whether it gives one of a few answers: verdicts, or the two named steps of a scale."""
        return bool(self.verdict_scores)

    @property
    def has_two_verdicts(self) -> bool:
        """Whether it decides between two verdicts: then it has a sensitivity and a specificity."""
        return len(self.verdict_scores) == 2

    def verdict_of(self, score: float | None) -> str | None:
        """Return the name of the verdict with this score; None without one."""
        return next((name for name, of in self.verdict_scores.items() if of == score), None)

    def label(self, item: Item) -> float | None:
        """Return the label of an item as a score on this judge's scale; None without a label.

        Raises `ConfigError` saying what is allowed when it is none of the judge's scores.
        """
        return None if item.truth is None else self.score_of(item.truth)

    def score_of(self, label: Label) -> float:
        """Return the score that a label stands for; raises as `label` does."""
        if (scale := getattr(self, "scale", None)) is not None:
            return label_on_scale(self.name, scale, label)
        return label_of_verdict(self.name, self.verdict_scores, label)

    def contradiction(self, result: JudgeResult) -> str:
        """Return what a result's reason says in place of its score or verdict; else nothing.

        By the rule of `answers.contradiction`. Reasons of pairs, of two orders, are not read.
        """
        if result.score is None or self.judges_pairs:
            return ""
        if self.verdict_scores:
            verdict = result.verdict or self.verdict_of(result.score) or ""
            other = contradicted_verdict(result.reason, verdict, self.verdict_scores)
            return f"concludes {other}, the verdict is {verdict}" if other else ""
        marks = (result.score, *result.subscores.values())
        named = contradicted_mark(result.reason, marks, self.score_range)
        return f"names {named}, the score is {result.score:g}" if named else ""

    def check(self, item: Item) -> None:
        """Raise `ConfigError` when `item` is not of the kind it judges."""
        if not isinstance(item, Item):
            raise ConfigError(
                f"{self.called} judges items, and {shown(item)} is none.",
                "Give Item(id=..., text=...), or a list of them from read_items(file).",
            )
        if self.judges_pairs and item.second is None:
            raise ConfigError(
                f"Item {item.id!r} has one text, and judge {self.name!r} compares two.",
                "Give the item a `second` text, or use a judge of single texts.",
            )
        if not self.judges_pairs and item.second is not None:
            raise ConfigError(
                f"Item {item.id!r} has a second text, and judge {self.name!r} judges single texts.",
                "Use a judge of kind pairwise.",
            )

    @staticmethod
    def from_file(path: str | Path) -> "Judge":
        """Read a judge file (YAML); raises `ConfigError` naming file, line, key and value."""
        return Judge.load(path)

    def score(
        self, item: Item | str, *, second: str | None = None, context: str = ""
    ) -> JudgeResult:
        """Judge one item or text once, in a script or a notebook; raises as `score_batch`.

        `second` and `context` belong to a text: the other text of a pair, and what it is about.
        """
        return run_now(self.ascore(item, second=second, context=context))

    async def ascore(
        self, item: Item | str, *, second: str | None = None, context: str = ""
    ) -> JudgeResult:
        """Judge as `score` does, in async code."""
        if isinstance(item, str):
            given = {"id": "text", "text": item, "second": second, "context": context}
            try:
                item = Item.model_validate(given)
            except ValidationError as error:
                raise unfit("The item", error) from None
        elif second is not None or context:
            raise ConfigError("An item has its own second text and context.", "Set them there.")
        return (await self.ascore_batch([item]))[0]

    def score_batch(
        self,
        items: Sequence[Item],
        *,
        repeats: int = 1,
        concurrency: int | None = None,
        retry_failed: bool = False,
    ) -> list[JudgeResult]:
        """Judge each item `repeats` times; returns item by item, repeat by repeat.

        What is already judged is not judged again, with `retry_failed` only what has not `failed`.
        At most `concurrency` judgements are in progress at once; without it as many as the
        provider's limits allow, or 8 of a custom judge.

        Raises `ConfigError` for an item that does not fit, `ProviderRefusedError` when every call
        would fail the same way, `BudgetExceededError` when the judge's budget is used up,
        `JudgementsWaitError` when a judgement is in an open batch; completed judgements are stored.
        """
        return run_now(
            self.ascore_batch(
                items, repeats=repeats, concurrency=concurrency, retry_failed=retry_failed
            )
        )

    async def ascore_batch(
        self,
        items: Sequence[Item],
        *,
        repeats: int = 1,
        concurrency: int | None = None,
        retry_failed: bool = False,
    ) -> list[JudgeResult]:
        """Judge as `score_batch` does, in async code."""
        return await self.judge_all(
            items, repeats=repeats, concurrency=concurrency, retry_failed=retry_failed
        )
