"""Measure a sweep of a million recorded judgements: plan, figures and report.

PostgreSQL generates the rows of `bench.views_at_scale`: 20 experiments, here all of one sweep. Each
step is a process of its own, so that its CPU and its peak memory are its own. Wall times include
PostgreSQL's work.

    python -m bench.million [--samples 1000000] [--steps plan data figures report]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.orm import Session

from bench.meter import MARK, Meter
from bench.place import REPOSITORY, tree_cpu_s
from bench.table import show
from bench.views_at_scale import EXPERIMENTS, REPLICATES, load
from judge_gym.store import embedded, migrate
from judge_gym.store.experiments import experiments_by_tag
from judge_gym.store.rubrics import applied_key

SWEEP = "all"
TAGS = [f"order-{number}" for number in range(EXPERIMENTS)]
STEPS = ("progress", "plan", "data", "figures", "report")
WHOLE = """
UPDATE experiments
SET config = config || jsonb_build_object('concept', concept, 'model', model,
    'temperature', (id / 2) / 10.0, 'window',
    '{"name": "spring", "query": "q", "country": "Valmora", "max_documents": 1000,
      "source": {"kind": "corpus", "path": "corpus.jsonl"}}'::jsonb);
UPDATE windows SET source = '{"kind": "corpus", "path": "corpus.jsonl"}';
INSERT INTO sweeps (name, description, swap) VALUES ('all', '', NULL);
INSERT INTO sweep_experiments
SELECT s.id, x.id, x.replicates FROM sweeps AS s, experiments AS x WHERE s.name = 'all';
"""
# The judges' own rubrics, under the keys by which W3 looks for them.
KEYS = "UPDATE rubrics SET key = :key WHERE owner_model = :model"
ARMS = """
UPDATE arms SET rubric_id = r.id FROM rubrics AS r, experiments AS x
WHERE x.id = arms.experiment_id AND r.owner_model = x.model
"""


def main() -> None:
    """Measure and print, or with `--step` do one step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        step(*asked.step)
        return
    items = asked.samples // (EXPERIMENTS * REPLICATES)
    with tempfile.TemporaryDirectory(prefix="judge-gym-bench-") as name:
        folder = Path(name) / "postgres"
        server = embedded.start(folder)
        try:
            migrate.upgrade(server.url)
            engine = sa.create_engine(
                server.url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
            )
            with engine.connect() as connection:
                load(connection, items)
                connection.exec_driver_sql(WHOLE)
                with Session(engine) as session:
                    stored = experiments_by_tag(session, TAGS).values()
                for experiment in stored:
                    named = {"key": applied_key(experiment), "model": experiment.model}
                    connection.execute(sa.text(KEYS), named)
                connection.execute(sa.text(ARMS))
            rows = [measured(one, server) for one in asked.steps]
        finally:
            embedded.remove(folder)
    columns = ("step", "wall s", "CPU s", "PostgreSQL CPU s", "peak MB", "about")
    load_now = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    show(f"A sweep of {asked.samples:,} judgements ({load_now})", columns, rows)
    for name, wall, cpu, database, *_ in rows:
        if name == "report" and wall != "-":
            worked = f"{cpu} s of its own CPU and {database} s of PostgreSQL's"
            print(f"The report of {asked.samples:,} judgements takes {wall} s: {worked}.")


def measured(name: str, server: embedded.EmbeddedServer) -> tuple[str, ...]:
    """Do a step in a process; return its row."""
    before = tree_cpu_s(server.pid)
    done = subprocess.run(
        [sys.executable, "-m", "bench.million", "--step", name, server.url],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not said:
        return name, "-", "-", "-", "-", f"failed with {done.returncode}"
    used = json.loads(said[-1].removeprefix(MARK))
    database = tree_cpu_s(server.pid) - before
    numbers = (used["wall_s"], used["cpu_s"], database, used["peak_mb"])
    row = (name, *(f"{number:.1f}" for number in numbers), used["about"])
    print(*row, file=sys.stderr, flush=True)
    return row


def step(name: str, url: str) -> None:
    """Do one step and print its figures."""
    from judge_gym.analysis.data import load_sweep_data
    from judge_gym.analysis.running import analyse
    from judge_gym.lab.probing import plan_probing
    from judge_gym.lab.scoring import plan_scoring
    from judge_gym.report.page import read_report, save_report
    from judge_gym.store.progress import sweep_progress
    from judge_gym.store.results import latest_run

    engine = sa.create_engine(url, poolclass=sa.NullPool)
    meter = Meter(about="")
    with Session(engine) as session, tempfile.TemporaryDirectory() as folder, meter:
        if name == "progress":
            ids = list(experiments_by_tag(session, TAGS))
            meter.facts["about"] = str(sweep_progress(session, ids, SWEEP)["w3-scoring"])
        elif name == "plan":
            missing, _ = plan_scoring(session, TAGS, SWEEP)
            probes = plan_probing(session, TAGS, SWEEP)
            meter.facts["about"] = f"{len(missing.by_model)} and {len(probes)} missing"
        elif name == "data":
            meter.facts["about"] = f"{len(load_sweep_data(session, SWEEP).samples.item)} samples"
        elif name == "figures":
            meter.facts["about"] = f"run {analyse(engine, SWEEP)}"
        else:
            run = latest_run(session, SWEEP)
            assert run is not None
            page = save_report(read_report(session, run.id), Path(folder))
            meter.facts["about"] = f"{page.stat().st_size / 1e6:.1f} MB"


if __name__ == "__main__":
    main()
