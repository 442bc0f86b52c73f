"""`make soak HOURS=...`: run an installation through faults, and write what it found.

    python tests/soak.py --hours 0.2 --seed 7 --to FOLDER

The same seed repeats the faults, in their order and with their lengths. CONTRIBUTING.md says what
is checked, and what is not covered.
"""

import argparse
import secrets
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from support.soak import page
from support.soak.findings import failures
from support.soak.story import soak


def main() -> None:
    """Run a soak; exit with 1 when something is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    parser.add_argument("--to", type=Path, default=Path("soak"), help="folder of what it found")
    chosen = parser.parse_args()
    print(f"Seed {chosen.seed}. Repeat with --seed {chosen.seed}.", flush=True)
    with TemporaryDirectory(prefix="judge-gym-soak-") as folder:
        story = soak(Path(folder), chosen.seed, chosen.hours * 3600)
    chosen.to.mkdir(parents=True, exist_ok=True)
    page.write(story, chosen.to / "soak.html")
    page.write_samples(story, chosen.to / "samples.csv")
    for line in page.facts(story):
        print(f"- {line}")
    for row in (*page.faults(story), *page.flat(story)):
        print(" | ".join(row))
    print(f"Page: {chosen.to / 'soak.html'}. Samples: {chosen.to / 'samples.csv'}.")
    if wrong := failures(story):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
