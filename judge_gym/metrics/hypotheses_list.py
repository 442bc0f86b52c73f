"""The hypotheses H1-H4 and the five validity checks, each a claim that an interval decides.

Where the sources give a target that no honest data can reach, or that holds by construction, the
claim here is another one, and `replaces` says which and why.
"""

from dataclasses import dataclass

from judge_gym.metrics.hypotheses_margins import Direction

CONTESTED, CONTROL, BENCHMARK = "ecc", "control", "benchmark"


@dataclass(frozen=True)
class Hypothesis:
    """A statement, the figure that stands for it and the claim about it.

    `margin` is the default of the plan, in the figure's unit. `needs` completes "it needs ...".
    """

    key: str
    statement: str
    estimand: str
    metric: str
    direction: Direction
    margin: float
    tasks: tuple[str, ...]
    needs: str
    replaces: str = ""


HYPOTHESES = (
    Hypothesis(
        "H1",
        "Entrenchment: judge families stand apart on contested concepts under one rubric.",
        "P - P0 under a common rubric, mean over items",
        "polarization_excess",
        Direction.ABOVE,
        0.05,
        (CONTESTED,),
        "two judge families with a common rubric on a contested concept",
        "A raw P, which is above 0 for identical judges at few replicates.",
    ),
    Hypothesis(
        "H2",
        "Consensus hallucination: judges expect more agreement than the other judges show.",
        "probed probability less realised agreement, mean over items",
        "overconfidence",
        Direction.ABOVE,
        0.10,
        (CONTESTED,),
        "probes of two judges on a contested concept",
        "A mean probability above 0.8, which may be right where judges do agree.",
    ),
    Hypothesis(
        "H3",
        "Framework sensitivity: a rival's rubric lowers confidence more than a second own one.",
        "change of confidence under the rival's rubric less that under a sham",
        "swap_beyond_sham",
        Direction.BELOW,
        -0.05,
        (CONTESTED, CONTROL),
        "a swap, and a sham of the same judge: without one, any other rubric may do it",
        "The swap alone.",
    ),
    Hypothesis(
        "H4.polarization",
        "Forced-choice inflation: part of the polarization of single verdicts is forced choice.",
        "P of pignistic distributions: single verdicts widened at random to the sizes of the "
        "subsets, less the subsets",
        "forced_choice_polarization",
        Direction.ABOVE,
        0.02,
        (CONTESTED, CONTROL),
        "single and subset verdicts of two judges on the same items and rubric",
        "k of subsets below P of single verdicts: other units, and true by construction.",
    ),
    Hypothesis(
        "H4.distance",
        "Forced-choice inflation, by distance between sets.",
        "d_J²: single verdicts widened at random to the sizes of the subsets, less the subsets",
        "forced_choice_distance",
        Direction.ABOVE,
        0.02,
        (CONTESTED, CONTROL),
        "single and subset verdicts of two judges on the same items and rubric",
        "k of subsets below P of single verdicts: other units, and true by construction.",
    ),
)

VALIDITY_CHECKS = (
    Hypothesis(
        "V1.polarization",
        "Discriminant control: judges agree where experts do.",
        "P - P0 under a common rubric, mean over items",
        "polarization_excess",
        Direction.BELOW,
        0.05,
        (CONTROL,),
        "two judge families with a common rubric on a control",
        "P and k below 0.1, which identical judges exceed.",
    ),
    Hypothesis(
        "V1.reference",
        "Discriminant control: verdicts are near the reference index.",
        "mean distance of the 0-1 score from the index",
        "control_error",
        Direction.BELOW,
        0.15,
        (CONTROL,),
        "a control with an index for its items",
        "0.95 for Norway: V-Dem's liberal democracy index gives it 0.83 to 0.85, and no country "
        "more than 0.90.",
    ),
    Hypothesis(
        "V2",
        "Dose-response: the more contested concept polarizes more.",
        "P - P0 of the more contested concept less that of the next",
        "dose_step",
        Direction.ABOVE,
        0.0,
        (CONTESTED, CONTROL),
        "two concepts whose order of contestation the plan gives",
        "An order of point estimates, which comes about by chance in one of six for three.",
    ),
    Hypothesis(
        "V3.chance",
        "External benchmark: judges find known answers more often than by guessing.",
        "share correct less the chance level; of pairs without a true tie, share judged right "
        "less share judged wrong, less what the judge's habit of place alone gives",
        "accuracy",
        Direction.ABOVE,
        0.0,
        (BENCHMARK,),
        "a benchmark with known answers",
        "80% on JudgeBench: the best published judge had 75.4%.",
    ),
    Hypothesis(
        "V3.published",
        "External benchmark: a judge scores as published.",
        "share correct less the published figure of the same judge",
        "accuracy_as_published",
        Direction.WITHIN,
        0.05,
        (BENCHMARK,),
        "a published figure of the same judge on the same benchmark",
        "80% on JudgeBench; o1-mini, for one, is published with 65.71% on the GPT-4o pairs.",
    ),
    Hypothesis(
        "V4.variance",
        "Internal consistency: a judge repeats itself.",
        "variance of the 0-1 score over replicates",
        "replicate_variance",
        Direction.BELOW,
        0.05,
        (CONTESTED, CONTROL, BENCHMARK),
        "3 replicates",
        "A variance of 0.5 in stages, which depends on the scale and passes a constant judge.",
    ),
    Hypothesis(
        "V4.icc",
        "Internal consistency: repeats tell items apart.",
        "share of the variance that is between items (ICC)",
        "replicate_icc",
        Direction.ABOVE,
        0.5,
        (CONTESTED, CONTROL, BENCHMARK),
        "3 replicates and items that differ",
        "A low variance alone, which a constant judge has.",
    ),
    Hypothesis(
        "V5",
        "Belief functions: for single verdicts the excess conflict of items follows their P.",
        "rank correlation over items of P and excess conflict (k less the mean self-conflict)",
        "conflict_polarization_correlation",
        Direction.ABOVE,
        0.8,
        (CONTESTED, CONTROL),
        "single verdicts of two judges on items that differ",
        "The correlation of P with k itself, which is 0.54 in a faultless implementation.",
    ),
)
