"""What a public bundle has in the place of texts that may not be shared, and of paths.

Everything that quotes a document of such a window is replaced by its digest: the document, its
views, prompts, answers and verdicts. Titles and addresses stay, so that others can look it up.
"""

# ruff: noqa: S608 (the parts are constants of this module; values are bound)

import re
from collections.abc import Iterable, Mapping

from psycopg import sql

from judge_gym.design.experiment import Experiment

_WITHHELD = "(SELECT id FROM windows WHERE NOT shareable)"
_WITHHELD_CALL = f"""(
    experiment_id IN (SELECT id FROM experiments WHERE window_id IN {_WITHHELD})
    OR split_part(key, '/', 2) IN (SELECT key FROM windows WHERE NOT shareable)
)"""
_WITHHELD_ARM = f"""arm_id IN (
    SELECT a.id FROM arms AS a JOIN experiments AS x ON x.id = a.experiment_id
    WHERE x.window_id IN {_WITHHELD}
)"""
_WITHHELD_SAMPLE = f"sample_id IN (SELECT id FROM samples WHERE {_WITHHELD_ARM})"
_WITHHELD_DOCUMENT = f"document_id IN (SELECT id FROM documents WHERE window_id IN {_WITHHELD})"
_NAMES = """ || coalesce((
    SELECT '; names exchanged: ' || string_agg(DISTINCT found[1], ', ')
    FROM regexp_matches(text, {names}, 'g') AS found
), '')"""
"""Figures count in which items names were exchanged, so the names that occur stay."""


def _digest(text: str) -> str:
    return f"'withheld, SHA-256 ' || encode(sha256(convert_to({text}, 'UTF8')), 'hex')"


_MESSAGES = (
    "SELECT jsonb_agg(jsonb_set(message, '{{content}}', to_jsonb("
    + _digest("message ->> 'content'")
    + "))) FROM jsonb_array_elements(messages) AS message"
)
_ERRORS = (
    "SELECT coalesce(jsonb_agg(error - 'message' - 'answer' || '{{\"message\": \"withheld\"}}'), "
    "'[]'::jsonb) FROM jsonb_array_elements(errors) AS error"
)
_KIND = "split_part(failure, ':', 1)"
_PATH = "regexp_replace({column} #>> '{{{{{path}}}}}', '^.*[/\\\\]', '')"


def _without_folder(column: str, path: str) -> str:
    name = _PATH.format(column=column, path=path)
    return (
        f"CASE WHEN {column} #> '{{{{{path}}}}}' IS NULL THEN {column} "
        f"ELSE jsonb_set({column}, '{{{{{path}}}}}', to_jsonb({name})) END"
    )


def _withheld(which: str, instead: str, column: str) -> str:
    return f"CASE WHEN {which} AND {column} IS NOT NULL THEN {instead} ELSE {column} END"


_PUBLIC: Mapping[str, Mapping[str, str]] = {
    "windows": {"source": _without_folder("source", "path")},
    "sweeps": {"definition": "NULL::jsonb"},  # `files` has the same without folders
    "experiments": {"config": _without_folder("config", "window,source,path")},
    "documents": {"text": _withheld(f"window_id IN {_WITHHELD}", _digest("text") + _NAMES, "text")},
    "views": {
        "text": _withheld(_WITHHELD_DOCUMENT, _digest("text") + _NAMES, "text"),
        "failure": _withheld(_WITHHELD_DOCUMENT, _KIND, "failure"),
    },
    "llm_calls": {
        "messages": _withheld(_WITHHELD_CALL, f"({_MESSAGES})", "messages"),
        "errors": _withheld(_WITHHELD_CALL, f"({_ERRORS})", "errors"),
        "answer": _withheld(_WITHHELD_CALL, _digest("answer"), "answer"),
        "reasoning": _withheld(_WITHHELD_CALL, _digest("reasoning"), "reasoning"),
        "logprobs": _withheld(_WITHHELD_CALL, "NULL", "logprobs"),
    },
    "samples": {
        "verdict_text": _withheld(_WITHHELD_ARM, _digest("verdict_text"), "verdict_text"),
        "failure": _withheld(_WITHHELD_ARM, _KIND, "failure"),
    },
    "probes": {"failure": _withheld(_WITHHELD_SAMPLE, _KIND, "failure")},
    "score_marks": {"failure": _withheld(_WITHHELD_SAMPLE, _KIND, "failure")},
}
"""Table → column → what a public bundle holds of it."""


def public_columns(
    table: str, columns: Iterable[str], experiments: Iterable[Experiment]
) -> sql.Composable:
    """Return the columns of a table to select for a public bundle of these experiments."""
    names = sql.Literal(_pattern(experiments))
    replaced = _PUBLIC.get(table, {})
    return sql.SQL(", ").join(
        sql.SQL("{} AS {}").format(
            sql.SQL(replaced[column]).format(names=names)
            if column in replaced
            else sql.Identifier(column),
            sql.Identifier(column),
        )
        for column in columns
    )


def _pattern(experiments: Iterable[Experiment]) -> str:
    """Return the pattern of every name that these experiments exchange; matches nothing if none."""
    mappings = [one.actors.mapping for one in experiments if one.actors.mapping]
    names = {name for mapping in mappings for pair in mapping.swap for name in pair}
    names |= {name.upper() for name in names}
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    listed = "|".join(r"\s+".join(map(re.escape, name.split())) for name in longest_first)
    return rf"(?<!\w)({listed})(?!\w)" if listed else r"(\A\Z.)"
