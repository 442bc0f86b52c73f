"""Tables of whether a conclusion hangs on a design choice: specification curves."""

from judge_gym.report.spec import Cell, Spec

ROBUSTNESS = (
    Spec(
        "Specification curves",
        "One claim in every defensible cell of the design: polarization above its floor, or the "
        "first judge of a pair less the second. The median of the cells; the share of cells of "
        "one sign and the share significant on one side, each beside its mean by chance; and the "
        "share significant against the median.",
        (
            Cell("median", "specification_median"),
            Cell("p (Holm)", "specification_median", "adjusted"),
            Cell("same sign", "specification_same_sign"),
            Cell("by chance", "specification_same_sign", "floor"),
            Cell("p", "specification_same_sign", "p"),
            Cell("significant", "specification_significant"),
            Cell("by chance", "specification_significant", "floor"),
            Cell("p", "specification_significant", "p"),
            Cell("against", "specification_against"),
            Cell("cells", "specification_same_sign", "n"),
        ),
        formulas=(
            "a cell: mean over items of (value of the first judge − value of the second)",
            "median, share of one sign, share with an interval off 0, over cells",
            "null: the labels of the two judges exchanged within an item or not, at random, the "
            "same in every cell; of polarization, the samples of an item dealt to the judges, in "
            "the order of random keys that are the same in every cell",
        ),
        needs=(
            "Needs two cells in which the same judges applied a common rubric. Fewer than 30 "
            "items with skewed differences (skewness 2): p of the median is below 0.05 in 9% of "
            "nulls at 16 items, 6% at 30.",
        ),
        sources=("Simonsohn, Simmons and Nelson 2020, Nature Human Behaviour 4.",),
    ),
    Spec(
        "Cells of the specification curves",
        "The claim in each cell, with its 95% interval.",
        (Cell("estimate", "specification"), Cell("items", "specification", "items")),
        brief=False,
        formulas=("as above, one cell at a time; t interval over items",),
        needs=("Needs an item that both judges scored, two that differ for the interval.",),
    ),
)
