"""AbstractGym: from particular observations to what they teach, by different prompts or models."""

from typing import ClassVar, Literal

from judge_gym.gyms.writing import WritingCase, WritingGym


class AbstractGym(WritingGym[WritingCase]):
    """Generalisations of a text; the judge marks how abstract, specific and actionable they are."""

    FORM: ClassVar[str] = "one generalisation of it, in one to three sentences"
    kind: Literal["abstract"] = "abstract"

    @property
    def form(self) -> type[WritingCase]:
        return WritingCase
