"""How often a judge is certified: just below what is required, and well above it.

    python -m bench.certificates

Prints, of 2,000 simulated judges each, the share certified: in some slice where the rate is just
below (at most 2.5% is promised), in one slice and in all where it is well above. By the function
that certifies, `class_rates.slices_shown`.
"""

import time

import numpy as np

from judge_gym.metrics.class_rates import ALPHA, slices_shown

TRIALS = 2000
REQUIRED, BELOW, ABOVE = 0.8, 0.79, 0.9


def certified(rates: np.ndarray, labels: int, rng: np.random.Generator) -> np.ndarray:
    """Return, trials x slices, whether judges with these rates, slices x 2, are certified."""
    hits = rng.binomial(labels, rates, (TRIALS, *rates.shape)).astype(float)
    return slices_shown(hits, np.full_like(hits, labels), np.array([REQUIRED, REQUIRED])).reached


def main() -> None:
    started, rng = time.perf_counter(), np.random.default_rng(1)
    print(f"Required: {REQUIRED} and {REQUIRED}. {TRIALS} trials a row; labels by class and slice.")
    print("slices  labels  below by    certified in some slice  well above: by slice  in all")
    worst = 0.0
    for slices in (1, 3, 6):
        for labels in (40, 100, 200, 500):
            above = certified(np.full((slices, 2), ABOVE), labels, rng)
            for requirement, name in enumerate(("sensitivity", "specificity")):
                rates = np.ones((slices, 2))
                rates[:, requirement] = BELOW
                wrong = certified(rates, labels, rng).any(axis=1).mean()
                worst = max(worst, float(wrong))
                print(
                    f"{slices:6}  {labels:6}  {name:11}  {wrong:22.2%}  "
                    f"{above.mean():20.1%}  {above.all(axis=1).mean():6.1%}"
                )
    print(f"At most {worst:.2%} just below ({BELOW}); {ALPHA:.1%} is promised.")
    print(f"{time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
