"""CITATION.cff is valid and says what the package says."""

import tomllib

import yaml

from support.command_line import REPOSITORY

TOP_LEVEL = {
    *("cff-version", "message", "title", "authors", "abstract", "type", "version", "license"),
    *("keywords", "date-released", "doi", "identifiers", "preferred-citation", "references"),
    *("repository", "repository-artifact", "repository-code", "url", "commit", "contact"),
    "license-url",
}
"""Keys of the Citation File Format 1.2.0 that this file may have."""
REQUIRED = {"cff-version", "message", "title", "authors"}


def test_the_citation_agrees_with_the_package() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert set(citation) >= REQUIRED
    assert set(citation) <= TOP_LEVEL
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert (citation["title"], citation["version"], citation["license"]) == (
        *(project["name"], project["version"], project["license"]),
    )
    # An entity has a name; a person would have family-names and given-names.
    assert [set(author) for author in citation["authors"]] == [{"name"}]
    assert "Apache License" in (REPOSITORY / "LICENSE").read_text()[:200]
