"""The shipped weekly study, small enough for a test."""

from pathlib import Path

from support.command_line import REPOSITORY

WEEKLY = REPOSITORY / "deployments" / "studies" / "weekly"
TEMPLATE = (WEEKLY / "template.yaml").read_text()


def weekly_study(folder: Path) -> Path:
    """Write the example's study with one judge and one replicate, and return its file."""
    text = TEMPLATE.replace("../../sweeps", str(REPOSITORY / "deployments" / "sweeps"))
    text = text.replace("articles.jsonl", str(WEEKLY / "articles.jsonl"))
    (folder / "template.yaml").write_text(text.replace("replicates: 2", "replicates: 1"))
    path = folder / "study.yaml"
    described = (WEEKLY / "study.yaml").read_text()
    path.write_text(described.replace("[sim/calm-1, sim/low-1]", "[sim/calm-1]"))
    return path
