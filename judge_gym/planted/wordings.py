"""What the wording of a judging prompt does to a planted judge.

Each family reads evidence a little higher or lower under each wording. The shift is drawn once for
the family and the text of the instructions, from a normal distribution around 0 whose standard
deviation is planted (`Family.wording_sd`). The standard wording shifts nothing.
"""

from judge_gym.planted.families import Family, parameters_of
from judge_gym.seeds import digest, generator

_STANDARD = frozenset(
    {"1a99f8c59ec82290", "786d41aa145ad70d", "7b16dad33aba8092", "a5d0528175a52197"}
)
"""Digests of the standard instructions: one stage or several, with and without abstention."""


def worded(family: str, instructions: str) -> Family:
    """Return a family's parameters under the wording of these instructions.

    `instructions` are the steps of a judging prompt, without the form of the answer. Without any
    there is no shift.
    """
    parameters, text = parameters_of(family), " ".join(instructions.split())
    if not text or digest("instructions", text) in _STANDARD:
        return parameters
    shift = generator("wording", family, text).gauss(0.0, parameters.wording_sd)
    return parameters.model_copy(update={"wording_shift": shift})
