"""The tickets of the alignment example: their labels are those of the rule that README states."""

import re

import pytest

from judge_gym.judges import read_item_file, read_labels
from support.command_line import REPOSITORY

TICKETS = REPOSITORY / "deployments" / "alignments"


@pytest.mark.parametrize(("name", "number"), [("tickets", 40), ("held-out", 20)])
def test_labels_follow_the_stated_rule(name: str, number: int) -> None:
    texts = read_item_file(TICKETS / f"{name}.jsonl").texts
    labels = {
        (row.item, row.annotator): row.labels
        for row in read_labels(TICKETS / f"{name}-labels.csv").rows
    }
    assert len(texts) == number
    for place, text in enumerate(texts):
        details = sum(bool(re.search("[0-9]", part)) for part in text.text.split(". ")[1:])
        label = [1, 2, 3, 4, 4, 4, 5, 5][details]
        for annotator, tenth in (("ann", 4), ("bo", 9)):
            less = place % 10 == tenth and label > 1
            assert labels[text.id, annotator] == (str(label - less),)
