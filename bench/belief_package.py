"""The belief measures by py_dempster_shafer: `python bench/belief_package.py < ROWS`.

Runs in its own environment. A line of ROWS is an item: a list of judges, each a list of verdicts,
each a list of stages. Prints CPU seconds and the sums that `bench.belief` compares.
"""

import json
import sys
import time
from itertools import combinations

from pyds import MassFunction


def main(stages: int) -> None:
    """Measure every item."""
    items = [json.loads(line) for line in sys.stdin]
    start, sums = time.process_time(), [0.0] * 5
    for item in items:
        cells = [mean_mass(verdicts) for verdicts in item]
        for cell in cells:
            low = [cell.bel({stage}) for stage in range(stages)]
            high = [cell.pl({stage}) for stage in range(stages)]
            bet = cell.pignistic()
            sums[0] += low[0]
            sums[1] += high[0]
            sums[2] += bet[{0}]
            sums[3] += (sum(high) - sum(low)) / stages
        for first, second in combinations(cells, 2):
            sums[4] += first.combine_conjunctive(second, normalization=False)[set()]
    print(json.dumps({"seconds": time.process_time() - start, "sums": sums}))


def mean_mass(verdicts: list[list[int]]) -> MassFunction:
    """The share of the verdicts that chose each set."""
    shares: dict[tuple[int, ...], float] = {}
    for verdict in verdicts:
        shares[tuple(verdict)] = shares.get(tuple(verdict), 0.0) + 1 / len(verdicts)
    return MassFunction([(set(chosen), mass) for chosen, mass in shares.items()])


if __name__ == "__main__":
    main(int(sys.argv[1]))
