"""Labelling by people: which item comes next, when there are enough labels, and the page for it.

Labels are appended to a file of labels (`label_files`), each with the probability with which its
item was drawn. Nothing else is kept: whoever starts again resumes from the file.
"""

from judge_gym.annotations import Draw
from judge_gym.judges.labelling.drawing import Labelling, Next, choices_of
from judge_gym.judges.labelling.server import serving

__all__ = ["Draw", "Labelling", "Next", "choices_of", "serving"]
