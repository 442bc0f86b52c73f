"""The texts and labels that a judge's gate names, read without a database."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from judge_gym.calibration.verdict import LEAST_LABELS
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.judges.aligning.splitting import aligned_on, example_texts, same_text
from judge_gym.judges.base import Judge, unfit
from judge_gym.judges.certifying.certificate import read_certificate
from judge_gym.judges.certifying.checking import ValidCertificate, valid_certificate
from judge_gym.judges.files import AnyJudge, load_judge
from judge_gym.judges.gate_rule import LEAST_AGAIN, THRESHOLDS, GateRule
from judge_gym.judges.item_files import ItemFile, read_labelled
from judge_gym.records.items import Item
from judge_gym.seeds import digest


@dataclass(frozen=True, eq=False)
class LoadedGate:
    """A judge with its rule and the texts that it names."""

    judge: Judge
    rule: GateRule
    file: ItemFile
    replaced: Mapping[str, float | None] = field(default_factory=dict)
    """Threshold → its value in the judge's file, where `fail_under` replaces it."""

    @cached_property
    def texts(self) -> tuple[Item, ...]:
        """The texts that count: those that the judge does not have as examples."""
        examples = example_texts(self.judge)
        return tuple(item for item in self.file.texts if same_text(item) not in examples)

    def answers(self, texts: Sequence[Item]) -> list[Item]:
        """Return the labelled answers with one of these texts, a text as often as it is there."""
        keys = {item.key for item in texts}
        return [item for item in self.file.answers if item.key in keys]

    @property
    def sentinel(self) -> list[Item]:
        """The part of them that is judged again to see a change, texts with labels first.

        Unless the gate says how many, all that can decide its thresholds, and as many as can show
        that nothing changed.
        """
        ordered = sorted(self.texts, key=lambda item: (item.truth is None, item.key))
        if self.rule.sentinel is not None:
            return ordered[: self.rule.sentinel]
        unchanged = self.rule.unchanged_texts(verdicts=self.judge.decides).values()
        labelled = self.labelled if self.rule.by_labels else 0
        return ordered[: max(LEAST_AGAIN, labelled, *unchanged)]

    @property
    def to_judge_again(self) -> int:
        """How many judgements of them there are each time."""
        return len(self.sentinel) * self.rule.repeats

    @property
    def sentinel_digest(self) -> str:
        """Tells this set from that of another gate of the judge, which has rechecks of its own."""
        return digest(*sorted(item.key for item in self.sentinel))

    @property
    def labelled(self) -> int:
        """How many of them have a label."""
        return sum(item.truth is not None for item in self.texts)

    def certified(self) -> ValidCertificate | None:
        """Return the certificate that the rule asks for; None where it asks for none.

        Raises `CertificateError` where it does not hold for the judge and the texts' slices, and
        `ConfigError` for a key without a certificate.
        """
        if self.rule.certificate is None:
            if self.rule.signed_by is not None:
                raise ConfigError(
                    f"{self.judge.called}: gate has signed_by and no certificate.",
                    "Add `certificate: FILE` to gate in its file, or --certificate FILE.",
                )
            return None
        return valid_certificate(
            self.rule.certificate, self.judge, self._slices, key=self.rule.signed_by
        )

    def _slices(self, column: str) -> set[str] | None:
        """Return the slices of the texts that count; None without such a column."""
        if column not in self.file.columns:
            return None
        texts = {item.key for item in self.texts}
        named = zip(self.file.items, self.file.column(column), strict=True)
        return {name for item, name in named if item.key in texts}

    @property
    def aligned_on(self) -> int:
        """How many of them the judge was aligned on, for training or for the choice."""
        return len(aligned_on(self.judge, self.texts))

    def said(self) -> str:
        """Return how many labels were read, of which texts, and which thresholds are replaced."""
        sentence = self.file.said(self.judge)
        if shown := len(self.file.texts) - len(self.texts):
            sentence += f" {counted(shown, 'text')} in the judge's examples: left out."
        if self.aligned_on:
            sentence += (
                f" The judge was aligned on {self.aligned_on} of these texts: figures on them may "
                "be too high."
            )
        if self.replaced:
            rule = self.rule.model_dump()
            named = ", ".join(
                f"{name} {rule[name]:g} (was {'none' if before is None else f'{before:g}'})"
                for name, before in self.replaced.items()
            )
            sentence += f" fail_under replaces thresholds of the judge's file: {named}."
        return sentence


def read_gate(judge: Judge) -> LoadedGate:
    """Read the texts of a judge's gate, with the reference of people's labels where it has a file.

    Raises `ConfigError` for a judge without a gate and for a threshold of verdicts where it gives
    none, and as `read_labelled` does.
    """
    if judge.gate is None:
        raise ConfigError(
            f"{judge.called} has no gate.", "Add `gate: {items: labelled.jsonl}` to its file."
        )
    rule = judge.gate
    for name, least in rule.rates.items():
        if least is not None and not judge.has_two_verdicts:
            raise ConfigError(
                f"{judge.called}: gate.{name} is {least:g}, and the judge has no two verdicts.",
                f"Leave gate.{name} out, or use a judge of two verdicts: kind binary, or a scale "
                "of two named steps.",
            )
    return LoadedGate(judge, rule, read_labelled(judge, rule, "gate"))


def load_gates(
    files: Sequence[Path], changes: Mapping[str, object], certificates: Sequence[Path] = ()
) -> list[LoadedGate]:
    """Read judges with their gates; `changes` stand in place of keys of each gate.

    Each judge has to have the one of the `certificates` that is of it. Raises as `load_gate` does.
    """
    loaded = []
    for place, file in enumerate(files):
        if file.resolve() in [earlier.resolve() for earlier in files[:place]]:
            raise ConfigError(f"{file} is given twice.", "Name each judge file once.")
    for judge in [load_judge(file) for file in files]:
        of_judge = {**changes, **_certificate_of(judge, certificates)}
        gate = rule_of(judge.gate, of_judge) if judge.gate else None
        changed = load_gate(judge.model_copy(update={"gate": gate}))
        loaded.append(replace(changed, replaced=_replaced(judge.gate, changed.rule)))
    return loaded


def rule_of(rule: GateRule | None, changes: Mapping[str, object]) -> GateRule:
    """Return a rule with other values for some of its keys, or one of these alone.

    Raises `ConfigError` for a key that there is not, and for a value that it cannot have.
    """
    fields = GateRule.model_fields
    for name in changes:
        if name not in fields:
            raise ConfigError(
                f"A gate has no {name!r}.",
                f"{did_you_mean(name, sorted(fields))}Use {', '.join(fields)}.",
            )
    given = rule.model_dump(exclude_unset=True) if rule else {}
    try:
        return GateRule.model_validate({**given, **changes})
    except ValidationError as error:
        raise unfit("gate", error) from None


def _replaced(rule: GateRule | None, changed: GateRule) -> dict[str, float | None]:
    """Return threshold → its value in a rule, of those that are others in the changed one."""
    before, after = rule.model_dump() if rule else {}, changed.model_dump()
    return {name: before[name] for name in THRESHOLDS if before and before[name] != after[name]}


def _certificate_of(judge: AnyJudge, files: Sequence[Path]) -> dict[str, object]:
    """Return the certificate among those given that is of this judge; else the first."""
    for file in files:
        with suppress(ConfigError):
            if read_certificate(file).judge.key == judge.key:
                return {"certificate": file}
    return {"certificate": files[0]} if files else {}


def load_gate(judge: Judge) -> LoadedGate:
    """Read the texts of a judge's gate, labelled where it asks for a figure of labels.

    Raises `ConfigError` when none has a label there, and as `read_gate` does.
    """
    gate = read_gate(judge)
    rule, texts = gate.rule, gate.file
    asked = list(rule.by_labels)
    if asked and all(item.truth is None for item in texts.items):
        without = ", ".join(f"gate.{name}: null" for name in asked)
        raise ConfigError(
            f"{judge.called}: the gate asks for {' and '.join(asked)}, and no text of {rule.items} "
            f"has a label. {texts.said(judge)}",
            f"Label at least {LEAST_LABELS} texts, or set {without}: then the gate asks only "
            "whether the answers can be read.",
        )
    return gate
