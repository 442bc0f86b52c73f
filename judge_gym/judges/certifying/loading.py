"""The labelled texts that a judge is certified on, read without a database."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from judge_gym.counting import counted
from judge_gym.errors import ConfigError, DataFileError, did_you_mean
from judge_gym.judges.aligning.splitting import aligned_on, example_texts, same_text
from judge_gym.judges.base import Judge
from judge_gym.judges.certify_rule import CertifyRule
from judge_gym.judges.certifying.certificate import LONGEST_NAME
from judge_gym.judges.certifying.evidence import PlacedText, question_key
from judge_gym.judges.item_files import ItemFile, read_labelled
from judge_gym.judges.people import People, bind
from judge_gym.records.items import Item

MOST_SLICES = 300
"""Most slices, and most systems, of one certificate."""


@dataclass(frozen=True, eq=False)
class LoadedCertification:
    """A judge with its rule, the texts that it names and people's labels of them."""

    judge: Judge
    rule: CertifyRule
    file: ItemFile
    people: People
    units: tuple[PlacedText, ...]
    """The texts in their slices and systems, without those that the judge was made with."""
    left_out: int
    """Texts that the judge was made with."""

    @cached_property
    def labelled(self) -> tuple[Item, ...]:
        """The texts that are judged: those with a known answer by people, each once."""
        texts = {unit.text for unit in self.units}
        return tuple(
            item for item in self.file.texts if item.key in texts and item.truth is not None
        )

    def said(self) -> str:
        """Return how many labels were read, for a person."""
        sentence = self.file.said(self.judge)
        if self.left_out:
            sentence += f" {counted(self.left_out, 'text')} that the judge was made with: left out."
        column = _column(self.rule, "system")
        if column not in self.file.columns:
            hint = did_you_mean(column, self.file.columns)
            sentence += f" No column {column!r}: whether it may rank systems is not tested. {hint}"
        return sentence.rstrip()


def load_certification(judge: Judge, rule: CertifyRule | None = None) -> LoadedCertification:
    """Read the texts and labels that a judge is certified on; `rule` in place of its file's.

    Raises `ConfigError` or `DataFileError` for a judge that has no two verdicts or no `certify`,
    for a file or column that does not exist, and for labels that are no verdicts.
    """
    if not judge.has_two_verdicts:
        raise ConfigError(
            f"{judge.called} has no two verdicts, and a certificate is of sensitivity and "
            "specificity.",
            "Certify a judge of kind binary, or with a scale of two named steps.",
        )
    rule = rule or judge.certify
    if rule is None:
        raise ConfigError(
            f"{judge.called} has no certify.",
            "Add `certify: {sensitivity: 0.8, specificity: 0.8}` to its file.",
        )
    rule = _with_items_of_gate(judge, rule)
    file = read_labelled(judge, rule, "certify")
    # Without a file of labels, those in the items' own column are of one annotator.
    people = file.people or bind(judge, file.items, None, file.label_column)
    _check_labels(judge, file, people)
    made_with = _made_with(judge, file.texts)
    units = _units(rule, file, made_with)
    return LoadedCertification(judge, rule, file, people, units, len(made_with))


def _with_items_of_gate(judge: Judge, rule: CertifyRule) -> CertifyRule:
    if rule.items is not None:
        return rule
    if judge.gate is None:
        raise ConfigError(
            f"{judge.called}: certify names no texts.",
            "Add `items: labelled.csv` to certify in its file, or --items labelled.csv.",
        )
    named = {"items": judge.gate.items, "fields": rule.fields or judge.gate.fields}
    if rule.labels is None:
        named |= {"labels": judge.gate.labels, "label_fields": judge.gate.label_fields}
    return rule.model_copy(update=named)


def _check_labels(judge: Judge, file: ItemFile, people: People) -> None:
    """Raise without a label of a whole text, and for a label between the two verdicts."""
    if not people.annotators():
        raise ConfigError(
            f"{judge.called}: no text of {file.path} has a label. {file.said(judge)}",
            "Label texts drawn at random: judge-gym judge label, or name a file with --labels.",
        )
    if not people.by_vote():
        named = ", ".join(f"{name} (or {score:g})" for name, score in judge.verdict_scores.items())
        raise DataFileError(
            f"{file.labels.path if file.labels else file.path}: a label lies between the verdicts.",
            f"Use {named}.",
        )


def _made_with(judge: Judge, texts: Collection[Item]) -> set[str]:
    """Return the keys of texts that the judge has as examples or was aligned on."""
    examples = example_texts(judge)
    shown = {item.key for item in texts if same_text(item) in examples}
    return shown | aligned_on(judge, texts)


def _units(rule: CertifyRule, file: ItemFile, made_with: set[str]) -> tuple[PlacedText, ...]:
    slices = file.column(rule.by) if rule.by else [""] * len(file.items)
    systems, questions = _if_there(rule, file, "system"), _if_there(rule, file, "question")
    units: Counter[PlacedText] = Counter()
    for item, place, counts, name, system, question in zip(
        file.items, file.places, file.counts, slices, systems, questions, strict=True
    ):
        if rule.by and not name:
            raise DataFileError(
                f"{place}, item {item.id!r}: {rule.by} is empty.",
                "Name the slice of every text, or leave `by` out of certify.",
            )
        for column, value in ((rule.by, name), (rule.system, system)):
            if len(value) > LONGEST_NAME:
                raise DataFileError(
                    f"{place}, item {item.id!r}: {column} has {len(value):,} characters.",
                    f"Use at most {LONGEST_NAME}.",
                )
        if item.key not in made_with:
            units[PlacedText(item.key, question_key(question or item.asked), system, name)] += (
                counts
            )
    for column, names in ((rule.by, slices), (rule.system, systems)):
        if len(set(names)) > MOST_SLICES:
            raise ConfigError(
                f"{file.path}: column {column!r} has {len(set(names)):,} different values.",
                f"Name a column with at most {MOST_SLICES}: each is certified by its own labels.",
            )
    if not units:
        raise ConfigError(
            f"{file.path}: the judge was made with every text.", "Certify it on other texts."
        )
    return tuple(sorted(unit._replace(answers=answers) for unit, answers in units.items()))


def _if_there(rule: CertifyRule, file: ItemFile, name: str) -> list[str]:
    """Return a column that `certify` names, or that has the usual name if it is there."""
    column = _column(rule, name)
    if column not in file.columns and name not in rule.model_fields_set:
        return [""] * len(file.items)
    return file.column(column)


def _column(rule: CertifyRule, name: str) -> str:
    """Return the column of systems or questions: as `certify` names it, else as `fields` does."""
    named: str = getattr(rule, name)
    return named if name in rule.model_fields_set else rule.fields.get(name, named)
