"""`judge-gym sweep multiverse` on recorded pairs: two orders of the answers are two cells."""

from support.command_line import REPOSITORY, CommandLine

MAPPING = f"""\
name: pairs
concept: better answer
country: general
source: a made-up benchmark
rubric: {REPOSITORY}/deployments/recorded/pairwise.yaml
judge_column: judge
item: {{key: pair, truth: better}}
truths: {{A: 1, B: 3}}
verdicts: [{{column: AB}}, {{column: BA, reversed: true}}]
decisions: {{A: 1, tie: 2, B: 3}}
"""


def test_claims_are_shown_over_the_orders_of_recorded_pairs(command: CommandLine) -> None:
    lines = ["pair,judge,AB,BA,better"]
    for pair in range(24):
        better, worse = ("A", "B") if pair % 2 else ("B", "A")
        mirrored = {"A": "B", "B": "A"}
        # good is right but for every sixth pair; poor is right on every third.
        for judge, right in (("good", pair % 6 > 0), ("poor", pair % 3 == 0)):
            choice = better if right else worse
            lines.append(f"p{pair},{judge},{choice},{mirrored[choice]},{better}")
    (command.folder / "mapping.yaml").write_text(MAPPING)
    (command.folder / "pairs.csv").write_text("\n".join(lines))
    command("data", "import-verdicts", "pairs.csv", "--mapping", "mapping.yaml").fine()

    shown = command("sweep", "multiverse", "pairs").fine().output
    assert len(shown.splitlines()) <= 40
    assert "good less poor" in shown
    assert "as given" in shown
    assert "swapped" in shown
    # Right on 20 of 24 pairs against 8, in both orders.
    assert "0.50 [" in shown
    assert "100%" in shown

    refused = command("sweep", "multiverse", "pairs", "--judges", "recorded/best")
    assert refused.code == 1
    assert "They are recorded/good, recorded/poor." in refused.errors
    short = command("sweep", "multiverse", "pairs", "--judges", "good").fine().output
    assert "good less poor" in short
