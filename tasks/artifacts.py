"""Names of artifacts, as Prefect allows them."""

import re


def artifact_key(kind: str, of: str) -> str:
    """Return "progress-score-some-experiment": small letters, digits and hyphens only."""
    return f"{kind}-{re.sub('[^a-z0-9]+', '-', of.lower()).strip('-')}"
