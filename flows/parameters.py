"""Types of flow parameters: what a form accepts, beside the words that explain it."""

from typing import Annotated, Any

from pydantic import Field

Model = Annotated[str, Field(pattern=r"^[^/\s]+/\S+$", examples=["openai/gpt-4.1-nano"])]
"""A provider of the providers file and a model of it."""
RunSettings = dict[str, Any] | None
"""Settings of one run, by name."""
