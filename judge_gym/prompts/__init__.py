"""Prompts: one template per agent. The hash of the template is stored with each call.

A template has a `system` and a `user` block. A missing variable is an error, never an empty
string. Text from outside is always inside a fence. What belongs to a concept (`<persona>`,
`<a persona>`, `<domain>`) is put into the source itself, so another persona is another template
with another hash.
"""

import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import jinja2
from jinja2 import meta

from judge_gym.seeds import digest

Message = dict[str, str]
NOTHING_BOUND: Mapping[str, str] = {}


_templates: jinja2.BaseLoader = jinja2.PackageLoader("judge_gym", "prompts")
_TO_BIND = re.compile("<(?:a )?persona>|<domain>")


class _Binding(jinja2.BaseLoader):
    """Loads templates with the words bound in their source."""

    def __init__(self, bound: Mapping[str, str]) -> None:
        self._bound = bound

    def get_source(self, environment: jinja2.Environment, template: str) -> Any:
        source, *rest = _templates.get_source(environment, template)
        for name, words in self._bound.items():
            source = source.replace(f"<{name}>", words)
        if unbound := _TO_BIND.search(source):
            raise jinja2.UndefinedError(f"{unbound.group()} of {template} is not bound")
        return source, *rest


@dataclass(frozen=True)
class Prompt:
    """The messages to send, the template's name and the hash of its source."""

    messages: tuple[Message, ...]
    template: str
    template_hash: str


def render(template: str, bound: Mapping[str, str] = NOTHING_BOUND, /, **values: Any) -> Prompt:
    """Render `<template>.j2`; raises `jinja2.UndefinedError` if anything is missing.

    `bound` is name → words that stand for `<name>` in the source. They must come from
    `Expertise`, which allows no syntax of templates in them.
    """
    loaded = _environment(tuple(bound.items())).get_template(f"{template}.j2")
    context = loaded.new_context(values)
    messages = tuple(
        {"role": role, "content": "".join(loaded.blocks[role](context)).strip()}
        for role in ("system", "user")
        if role in loaded.blocks
    )
    return Prompt(messages, template, template_hash(template, bound))


def parts(template: str, names: Iterable[str], /, **values: Any) -> dict[str, str]:
    """Return the blocks of a template by name, rendered; raises as `render`."""
    loaded = _environment(()).get_template(f"{template}.j2")
    context = loaded.new_context(values)
    return {name: "".join(loaded.blocks[name](context)).strip() for name in names}


def continued(before: tuple[Message, ...], answer: str, prompt: Prompt) -> Prompt:
    """Return `prompt` as the next turn of a conversation that ended with `answer`."""
    reply = {"role": "assistant", "content": answer}
    return Prompt((*before, reply, *prompt.messages), prompt.template, prompt.template_hash)


def template_hash(template: str, bound: Mapping[str, str] = NOTHING_BOUND) -> str:
    """Return 16 hex digits of the SHA-256 of a template's source and its imports."""
    return _hash(template, tuple(bound.items()))


def sources_of(template: str, bound: Mapping[str, str] = NOTHING_BOUND) -> list[tuple[str, str]]:
    """Return (file, source) of a template and then of its imports.

    The SHA-256 of the sources, joined by NUL bytes, begins with the hash of the template.
    """
    return _sources(_environment(tuple(bound.items())), f"{template}.j2")


@cache
def _hash(template: str, bound: tuple[tuple[str, str], ...]) -> str:
    sources = "\0".join(text for _, text in _sources(_environment(bound), f"{template}.j2"))
    return hashlib.sha256(sources.encode()).hexdigest()[:16]


@lru_cache(maxsize=256)
def _environment(bound: tuple[tuple[str, str], ...]) -> jinja2.Environment:
    return jinja2.Environment(
        loader=_Binding(dict(bound)),
        undefined=jinja2.StrictUndefined,
        auto_reload=False,  # one run has one text, under the hash that was taken of it
        autoescape=False,  # prompts are plain text; HTML escaping would alter evidence
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def _sources(environment: jinja2.Environment, name: str) -> list[tuple[str, str]]:
    loader = environment.loader
    assert loader is not None
    source, _, _ = loader.get_source(environment, name)
    named = meta.find_referenced_templates(environment.parse(source))
    imported = sorted({child for child in named if child is not None})
    return [(name, source), *(one for child in imported for one in _sources(environment, child))]


def nonce(call_key: str, *texts: str) -> str:
    """Return the fence mark of a call: derived from its key, and absent from the texts.

    The author of a page cannot predict it, so no page can close its own fence. A rerun derives the
    same mark, so prompts are byte-identical.
    """
    marks = (digest("fence", call_key, attempt)[:12] for attempt in itertools.count())
    return next(mark for mark in marks if not any(mark in text for text in texts))
