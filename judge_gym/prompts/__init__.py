"""Prompts: one template per agent. The hash of the template is stored with each call.

A template has a `system` and a `user` block. A missing variable is an error, never an empty
string. Text from outside is always inside a fence.
"""

import hashlib
import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2
from jinja2 import meta

from judge_gym.seeds import digest

_environment = jinja2.Environment(
    loader=jinja2.PackageLoader("judge_gym", "prompts"),
    undefined=jinja2.StrictUndefined,
    autoescape=False,  # prompts are plain text; HTML escaping would alter evidence
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=False,
)

Message = dict[str, str]


@dataclass(frozen=True)
class Prompt:
    """The messages to send, the template's name and the hash of its source."""

    messages: tuple[Message, ...]
    template: str
    template_hash: str


def render(template: str, **values: Any) -> Prompt:
    """Render `<template>.j2`; raises `jinja2.UndefinedError` if a variable is missing."""
    loaded = _environment.get_template(f"{template}.j2")
    context = loaded.new_context(values)
    messages = tuple(
        {"role": role, "content": "".join(loaded.blocks[role](context)).strip()}
        for role in ("system", "user")
        if role in loaded.blocks
    )
    return Prompt(messages, template, template_hash(template))


def continued(before: tuple[Message, ...], answer: str, prompt: Prompt) -> Prompt:
    """Return `prompt` as the next turn of a conversation that ended with `answer`."""
    reply = {"role": "assistant", "content": answer}
    return Prompt((*before, reply, *prompt.messages), prompt.template, prompt.template_hash)


@cache
def template_hash(template: str) -> str:
    """Return 16 hex digits of the SHA-256 of a template's source and its imports."""
    return hashlib.sha256("\0".join(_sources(f"{template}.j2")).encode()).hexdigest()[:16]


def _sources(name: str) -> list[str]:
    loader = _environment.loader
    assert loader is not None
    source, _, _ = loader.get_source(_environment, name)
    named = meta.find_referenced_templates(_environment.parse(source))
    imported = sorted({child for child in named if child is not None})
    return [source, *(text for child in imported for text in _sources(child))]


def nonce(call_key: str, *texts: str) -> str:
    """Return the fence mark of a call: derived from its key, and absent from the texts.

    The author of a page cannot predict it, so no page can close its own fence. A rerun derives the
    same mark, so prompts are byte-identical.
    """
    marks = (digest("fence", call_key, attempt)[:12] for attempt in itertools.count())
    return next(mark for mark in marks if not any(mark in text for text in texts))
