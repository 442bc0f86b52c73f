"""What a figure is about, in few words: only the parts of a scope that vary within a table."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from pydantic import BaseModel

from judge_gym.analysis.groups import PARTS, SUBJECTS
from judge_gym.design.axes import level_of
from judge_gym.design.axis_pairs import parts_of_level
from judge_gym.design.experiment import Experiment

Scope = Mapping[str, Any]

DEFAULTS_NOTE = "An axis that a table does not name is at its default; see judge-gym sweep axes."
AT_DEFAULTS = "default settings"
_PLACES = ("window", "country", "task_type")
"""Mostly follow from the concept, and are said only where they do not."""
_BEHIND = ("judge", "pair", "concept")
"""Parts of a scope that tell which judgements are behind a figure."""
_CODED = ("rule", "regression", "term")
_TASKS = {"ecc": "contested concept (ecc)"}
_REGRESSIONS = {"ecc": "contested concepts (ecc)", "ablation": "all tasks (ablation)"}
_CONTRAST = ("axis", "from", "to")
_NOT_SETTINGS = {"concept", "rubric", *_PLACES, *SUBJECTS, *_CONTRAST}
_DISPLAY = {"randomize_labels": "letters", "shuffle_order": "order"}
"""Axis → what is `fixed` where it is off and `random` where it is on."""
_PHRASES: Mapping[str, Callable[[Any], str]] = {
    "scoring_method": lambda value: {
        "single": "single stages",
        "subset": "subsets",
        "structured_json": "JSON",
    }[value],
    "scale_size": lambda value: f"{value} stages",
    "evidence_view": lambda value: f"{value} evidence",
    "prompt_order": lambda value: str(value).replace("_", " "),
    "abstain": lambda value: "may abstain" if value else "forced choice",
    "probe_window": lambda value: (
        "fresh probes" if value == "fresh" else "probed in the same conversation"
    ),
    "wording": lambda value: f"{value} wording",
    "rubric_draw": lambda value: f"rubric draw {value}",
    "bundle_size": lambda value: f"bundles of {value}",
}
_MOST_LEVELS = 2
"""Axes whose levels are named for a group at the defaults; with more, it is `AT_DEFAULTS`."""


def group_labels(scopes: Sequence[Scope]) -> list[str]:
    """Return per scope what tells its group from the others of a table; "" when there is one.

    What a contrast changes comes first, then concept, rubric and setting. A group that differs
    from the others in being at the defaults is named, too: its rows would else seem to belong to
    the heading above them.
    """
    parts = [changes(scopes), *_varying(scopes), _rubrics(scopes), _own_settings(scopes)]
    shown = [texts for texts in parts if len(set(texts)) > 1 or texts is parts[0]]
    labels = [", ".join(filter(None, texts)) for texts in zip(*shown, strict=True)]
    return [label or AT_DEFAULTS for label in labels] if any(labels) else labels


def behind(scopes: Iterable[Scope]) -> tuple[tuple[str, str], ...]:
    """Return the judge, pair of families and concept that all these scopes have in common."""
    named = [{(name, str(scope[name])) for name in _BEHIND if name in scope} for scope in scopes]
    return tuple(sorted(set.intersection(*named))) if named else ()


def evidence_link(about: Iterable[tuple[str, str]], place: str = "evidence") -> str:
    """Return the address on the page of the judgements with these values, as the script reads it.

    `place` is the id to go to: the list of all items, or one item of it.
    """
    query = urlencode(list(about))
    return f"#{place}?{query}" if query else f"#{place}"


def subject_columns(scopes: Sequence[Scope]) -> list[tuple[str, list[str]]]:
    """Return (heading, a text per scope): who is meant, always; the arm only where it varies."""
    columns = [(name, _texts(scopes, name)) for name in SUBJECTS if name not in PARTS]
    columns = [(name, [*map(_term, texts)] if name in _CODED else texts) for name, texts in columns]
    for part in PARTS:
        names = [str(scope.get(part, "all")) for scope in scopes]
        if set(names) != {"all"}:
            columns.append((part, names))
    return [
        (name, texts)
        for name, texts in columns
        if len(set(texts)) > 1 or (any(texts) and name != "arm")
    ]


def shared_part(scopes: Sequence[Scope]) -> str:
    """Return what holds for every row, such as `fascism, own rubric`; may be empty."""
    same = [
        texts[0]
        for texts in (_texts(scopes, "concept"), _rubrics(scopes))
        if len(set(texts)) == 1 and texts[0]
    ]
    return ", ".join([*same, *_shared_settings(scopes)])


def setting_phrases(values: Scope, named: Collection[str] = ()) -> list[str]:
    """Return in words the axes among `values` that are `named` or not at their default, sorted."""
    said = {
        name: value
        for name, value in values.items()
        if name not in _NOT_SETTINGS and (name in named or value != default_level(name))
    }
    ways = {
        noun: "random" if said[name] else "fixed" for name, noun in _DISPLAY.items() if name in said
    }
    alike = len(ways) == len(_DISPLAY) and len({*ways.values()}) == 1
    phrases = [f"{way} {noun}" for noun, way in ways.items()]
    if alike:
        phrases = [f"{next(iter(ways.values()))} display"]
    for name, value in said.items():
        if name not in _DISPLAY:
            say = _PHRASES.get(name)
            phrases.append(say(value) if say else f"{name.replace('_', ' ')} {value}")
    return sorted(phrases)


def varying(scopes: Sequence[Scope]) -> set[str]:
    """Return the parts of these scopes that have more than one value."""
    names = dict.fromkeys(name for scope in scopes for name in scope)
    return {name for name in names if len(set(_texts(scopes, name))) > 1}


def may_abstain(scope: Scope) -> bool:
    """Return whether a judge may abstain in the judgements of a figure; unknown counts as yes."""
    return scope.get("abstain") is not False


def setting_of(experiment: Experiment) -> str:
    """Return in words what is not at its default in an experiment; who judges what is no part."""
    axes = ("replicates", "tag", "task_type", "family", "model", "ground_truth")
    values = experiment.model_dump(exclude={*axes, "window"})
    levels = {name: level_of(experiment, name) for name in ("actors", "bundles")}
    return ", ".join(setting_phrases(values | levels))


def rubric_phrase(text: str) -> str:
    """Return a scope's rubric in words: `own rubric`, `rubric by MODEL`, `provided rubric`."""
    kind, rest = parts_of_level(text)
    return {
        "": "",
        "shared": f"rubric {rest}",
        "provided": f"provided rubric {rest}".strip(),
    }.get(kind, f"{text} rubric")


def short_label(scope: Scope) -> str:
    """Return a scope in a few words: who, then the concept."""
    if not scope:
        return "the sweep"
    if "regression" in scope:
        names = (name for name in ("regression", "term") if name in scope)
        return ", ".join(_term(text) for name in names for text in _texts([scope], name))
    subject = str(scope.get("judge") or scope.get("pair") or "all judges")
    return f"{subject} on {scope['concept']}" if "concept" in scope else subject


def _varying(scopes: Sequence[Scope]) -> Iterator[list[str]]:
    concepts = _texts(scopes, "concept")
    yield concepts
    for name in _PLACES:
        texts = _texts(scopes, name)
        if len(set(zip(concepts, texts, strict=True))) > len(set(concepts)):
            yield texts


def _texts(scopes: Sequence[Scope], name: str) -> list[str]:
    texts = [str(scope.get(name, "")) for scope in scopes]
    words = {"task_type": _TASKS, "regression": _REGRESSIONS}.get(name, {})
    return [words.get(text, text) for text in texts]


def task_in_words(task: str) -> str:
    """Return a task type as tables name it: `ecc` is short for an essentially contested concept."""
    return _TASKS.get(task, task)


def _term(text: str) -> str:
    """Return `evidence view: raw` of a regression's term `evidence_view[raw]`."""
    factor, bracket, level = text.partition("[")
    words = factor.replace("_", " ")
    return f"{words}: {level.removesuffix(']')}" if bracket else words


def changes(scopes: Sequence[Scope]) -> list[str]:
    """Return what each contrast changes, such as `abstain: off → on`; "" where there is none."""
    return [
        f"{str(scope['axis']).replace('_', ' ')}: {_level(scope['from'])} → {_level(scope['to'])}"
        if "from" in scope
        else str(scope.get("axis", "")).replace("_", " ")
        for scope in scopes
    ]


def _level(value: Any) -> str:
    return {"False": "off", "True": "on"}.get(str(value), str(value))


def _rubrics(scopes: Sequence[Scope]) -> list[str]:
    """Return the rubrics; the digest of a provided one only where it tells two apart."""
    texts, concepts = _texts(scopes, "rubric"), _texts(scopes, "concept")
    kinds = [parts_of_level(text)[0] for text in texts]
    short = [kind if kind == "provided" else text for kind, text in zip(kinds, texts, strict=True)]
    long_pairs, short_pairs = (set(zip(concepts, labels, strict=True)) for labels in (texts, short))
    chosen = short if len(long_pairs) == len(short_pairs) else texts
    return [rubric_phrase(text) for text in chosen]


def _own_settings(scopes: Sequence[Scope]) -> list[str]:
    """Return what each does not share; of one at the defaults, the levels that others change."""
    shared = _shared_settings(scopes)
    levels = varying(scopes) - _NOT_SETTINGS
    named = levels if len(levels) <= _MOST_LEVELS else ()

    def own(scope: Scope, named: Collection[str] = ()) -> str:
        return ", ".join(one for one in setting_phrases(scope, named) if one not in shared)

    if not any(map(own, scopes)):
        return [""] * len(scopes)
    return [own(scope) or own(scope, named) for scope in scopes]


def _shared_settings(scopes: Sequence[Scope]) -> list[str]:
    phrases = [set(setting_phrases(scope)) for scope in scopes]
    return sorted(set.intersection(*phrases)) if phrases else []


def default_level(name: str) -> Any:
    """Return the default of an axis as scopes show it; None where there is none."""
    field = Experiment.model_fields.get(name)
    default = field.default if field else None
    return str(default) if isinstance(default, BaseModel) else default
