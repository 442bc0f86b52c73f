"""Make every page of judge-gym by its command, and a picture of each for the documentation.

`python tests/gallery.py [NAME ...]` runs the commands in a new folder and writes
`docs/pictures/gallery-NAME.webp`. It needs Chromium, no key, and about six minutes for all.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from judge_gym.report.shelf import shelf_page
from support.chromium import Browser, chromium
from support.command_line import REPOSITORY

DEPLOYMENTS = REPOSITORY / "deployments"
PICTURES = REPOSITORY / "docs" / "pictures"
WIDTH, HEIGHT, QUALITY = 1200, 820, 55
CERTIFIED = """
kind: binary
name: keep
model: sim/good-1
task: Decide whether a research note is good enough to be kept.
verdicts: [{name: keep, description: It has evidence.}, {name: drop, description: It has none.}]
certify: {sensitivity: 0.2, specificity: 0.2, items: notes.csv}
"""


@dataclass(frozen=True)
class Page:
    """A page: the command that writes it, its file among the reports, and words on it."""

    command: str
    """What is typed in a checkout; `@` is the new folder."""
    file: str
    shows: str


WRITTEN = {
    "demo": Page("demo", "report-demo.html", "Can it be trusted?"),
    "pilot": Page(
        "sweep run deployments/sweeps/pilot-v3.yaml --yes", "report-pilot-v3.html", "regime"
    ),
    "audit": Page(
        "audit deployments/studies/llmbar --mapping deployments/studies/llmbar/mapping.yaml",
        "audit-*.html",
        "Judges over wordings",
    ),
    "calibration": Page(
        "judge calibrate deployments/calibrations/notes.yaml", "calibration-notes.html", "good"
    ),
    "comparison": Page(
        "judge compare deployments/calibrations/good.yaml deployments/calibrations/clustering.yaml"
        " --items deployments/calibrations/notes.jsonl",
        "comparison-good-clustering.html",
        "in place of",
    ),
    "gate": Page("judge gate deployments/calibrations/good.yaml", "gate-good.html", "Gate"),
    "certificate": Page("judge certify @keep.yaml", "certificate-keep.html", "Certificate"),
    "alignment": Page(
        "judge align deployments/alignments/tickets.yaml --out @aligned.yaml",
        "alignment-tickets.html",
        "Whether the gain survives",
    ),
    "review": Page(
        "judge review deployments/reviews/notes.yaml", "judge_review_*.html", "May these judges"
    ),
    "panel": Page(
        "panel evaluate deployments/panels/two-families.yaml"
        " --items deployments/panels/labelled.jsonl",
        "panel-two-families-evaluation.html",
        "two-families",
    ),
    "gym": Page("judge gym deployments/gyms/apply.yaml", "gym-*.html", "Which candidate"),
}
"""Name of a picture → its page."""
SERVED = {
    "label": Page(
        "judge label deployments/judges/notes.yaml --items @texts.jsonl --annotator ada --port 0",
        "",
        "A number from 0 to 100",
    ),
}
"""The same for pages that a command serves until it is stopped."""
INDEX = "index"
"""The picture of the index that `up` shows of all written pages."""


def main() -> None:
    """Make the pictures that are named, or all."""
    every = [*WRITTEN, *SERVED, INDEX]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(every))
    chosen = parser.parse_args().names or every
    with tempfile.TemporaryDirectory(prefix="judge-gym-gallery-") as name:
        folder = Path(name)
        environment = os.environ | {"JUDGE_GYM_DATA_DIR": str(folder / "data"), "COLUMNS": "100"}
        given(folder)
        with chromium(folder / "profile") as browser:
            browser.ask("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT,
                        deviceScaleFactor=1, mobile=False)  # fmt: skip
            for one, page in WRITTEN.items():
                if one in chosen:
                    run(page, folder, environment)
                    [*_, file] = sorted((folder / "data" / "reports").glob(page.file))
                    taken(browser, one, file.as_uri(), page.shows)
            for one, page in SERVED.items():
                if one in chosen:
                    with served(page, folder, environment) as url:
                        taken(browser, one, url, page.shows)
            if INDEX in chosen:
                index = folder / "data" / "reports" / "index-of-up.htm"
                index.write_text(shelf_page(index.parent), encoding="utf-8")
                taken(browser, INDEX, index.as_uri(), "Reports")


def given(folder: Path) -> None:
    """Write the files of the examples that need their own."""
    lines = (DEPLOYMENTS / "calibrations" / "notes.jsonl").read_text().splitlines()
    notes = [note for note in map(json.loads, lines) if note.get("truth") is not None]
    notes.sort(key=lambda note: float(note["truth"]))
    with (folder / "notes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "text", "truth"))
        for place, note in enumerate(notes):
            kept = "keep" if place >= len(notes) // 2 else "drop"
            rows.writerow((note["id"], note["text"], kept))
    (folder / "keep.yaml").write_text(CERTIFIED)
    texts = (DEPLOYMENTS / "judges" / "notes.jsonl").read_text()
    (folder / "texts.jsonl").write_text(texts)


def command(*words: str) -> list[str]:
    """Return a command of judge-gym as it is run here."""
    return [sys.executable, "-c", "from deployments.cli.app import main; main()", *words]


def run(page: Page, folder: Path, environment: dict[str, str]) -> None:
    """Run the command of a page to its end; 3 says that the data cannot tell."""
    words = page.command.replace("@", f"{folder}/").split()
    ended = subprocess.run(
        command(*words),
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode not in (0, 1, 3):
        sys.exit(f"{page.command}\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")


@contextmanager
def served(page: Page, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run a command that serves a page in the block; its address."""
    words = page.command.replace("@", f"{folder}/").split()
    process = subprocess.Popen(
        command(*words), cwd=REPOSITORY, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if address := re.search(r"http://127\.0\.0\.1:\d+\S*", line):
                yield address[0].rstrip(".")
                break
    finally:
        process.terminate()
        process.wait()


def taken(browser: Browser, name: str, url: str, shows: str) -> None:
    """Open a page and write how its first screen looks."""
    browser.open(url, shows)
    shot = browser.ask("Page.captureScreenshot", format="webp", quality=QUALITY)
    file = PICTURES / f"gallery-{name}.webp"
    file.write_bytes(b64decode(shot["data"]))
    print(f"{file.relative_to(REPOSITORY)}  {file.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
