"""A sweep whose only calls are judgements: articles as they are, under a rubric that is given."""

from support.command_line import SWEEPS


def scoring_sweep(
    name: str, *models: str, documents: int = 4, replicates: int = 2, more: str = ""
) -> str:
    """The text of its file; `more` are further lines of it."""
    return f"""
name: {name}
utility_model: sim/utility-1
windows:
  valmora:
    country: Valmora
    max_documents: {documents}
    source: {{kind: corpus, path: {SWEEPS}/corpora/valmora.jsonl}}
blocks:
  - concept: democratic backsliding
    window: valmora
    evidence_view: raw
    rubric: {{provided: {SWEEPS}/rubrics/backsliding.yaml}}
    model: [{", ".join(models)}]
    replicates: {replicates}
{more}"""
