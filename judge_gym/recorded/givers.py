"""Whether a name, such as that of a column, is of a person or of a model."""

import re
from collections.abc import Collection

from judge_gym.recorded.tables import words_of

_PEOPLE = {
    *("human", "humans", "people", "person", "annotator", "annotators", "expert", "experts"),
    *("crowd", "worker", "workers", "coder", "coders", "rater", "raters", "reviewer", "reviewers"),
    *("mensch", "menschen", "humain", "humaine", "humano", "humana", "umano", "annotateur"),
}
_MODELS = {"model", "models", "llm", "llms", "gpt", "bot", "ai", "lm"}
_MACHINES = {"machine", "automatic", "auto", "automated"}
"""Words for models in a column that says of each row who gave it."""
_FAMILIES = (
    *("judge", "gpt", "chatgpt", "claude", "gemini", "gemma", "llama", "mistral", "mixtral"),
    *("qwen", "deepseek", "grok", "phi", "vicuna", "alpaca", "prometheus", "olmo", "granite"),
    *("nemotron", "nova", "glm", "kimi", "sonnet", "opus", "haiku", "flan", "palm", "cohere"),
)
"""How words begin in names of judges and of models."""
_NO_MODELS = {"film", "realm", "helm", "calm", "elm", "balm", "qualm"}
"""Words that end as names of language models do, such as JudgeLM and PandaLM."""
_SIZE = re.compile(r"\d\s?[bm]\b|\bj(?:udge)?\s?\d+\b", re.IGNORECASE)
"""A number of parameters such as 70B, and the number of a judge such as J1."""


def names_a_person(column: str) -> bool:
    """Whether a column's name is one that columns of people's labels have."""
    words = words_of(column)
    return bool(words & _PEOPLE) and not words & _MODELS


def names_a_judge(column: str) -> bool:
    """Whether a column's name says that a model or a judge gave its verdicts."""
    words = words_of(column)
    named = bool(words & _MODELS) or any(
        word.startswith(_FAMILIES) or (word.endswith("lm") and word not in _NO_MODELS)
        for word in words
    )
    return (named or _SIZE.search(column) is not None) and not names_a_person(column)


def people_among(values: Collection[str]) -> list[str]:
    """Return the values that name people where each names people or models, such as human and llm;
    [] where all are of one kind, or one is of neither.

    >>> people_among(["llm", "human", "Expert"])
    ['Expert', 'human']
    >>> people_among(["llm", "human", "mixed"])
    []
    """
    people = sorted(filter(names_a_person, values))
    models = [one for one in values if names_a_judge(one) or words_of(one) & _MACHINES]
    is_all = len(people) + len(models) == len(values)
    return people if models and is_all else []
