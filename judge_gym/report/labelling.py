"""The page on which people label items."""

from judge_gym.judges.label_files import LONGEST_NOTE
from judge_gym.judges.labelling import Labelling, choices_of
from judge_gym.judges.people import WHOLE
from judge_gym.report.files import ENVIRONMENT


def label_page(labelling: Labelling, annotator: str, nonce: str) -> str:
    """Return the page; its style and script have the nonce, and it loads nothing from anywhere.

    Texts are put there as text by its script, and never read as markup. `annotator` fills the
    field of the name.
    """
    judge = labelling.judge
    lowest, highest = judge.score_range
    descriptions = {
        criterion.name: criterion.description for criterion in getattr(judge, "criteria", ())
    }
    described = {verdict.name: verdict.description for verdict in getattr(judge, "verdicts", ())}
    return ENVIRONMENT.get_template("label.html.j2").render(
        judge=judge,
        task=getattr(judge, "task", ""),
        criteria=[
            {"name": name, "description": descriptions.get(name, "")} for name in labelling.criteria
        ],
        guide=[] if labelling.criteria != (WHOLE,) else list(descriptions.items()),
        verdicts=list(described.items()),
        choices=[
            {"key": key, "label": label, "name": name} for key, label, name in choices_of(judge)
        ],
        lowest=lowest,
        highest=highest,
        annotator=annotator,
        adjudicator=labelling.adjudicator,
        shows_score=labelling.shows_score,
        longest_note=LONGEST_NOTE,
        nonce=nonce,
    )
