"""Measure the views of the schema `analysis` at a million samples: plans and times.

python -m bench.views_at_scale [--samples 1000000] [--plans FOLDER]

PostgreSQL generates the rows: 20 experiments in ten sweeps of two judges, a call for every sample
and a probe for every scored one.
"""

import argparse
import re
import tempfile
from pathlib import Path

import sqlalchemy as sa

from bench.table import show
from judge_gym.store import embedded, migrate

EXPERIMENTS, REPLICATES = 20, 20

LOAD = """
SET session_replication_role = replica;
INSERT INTO windows (key, name, query, country, max_documents, source, collected_at)
VALUES ('w', 'spring', 'q', 'Valmora', {items}, '{{}}', now());
INSERT INTO documents (window_id, position, key, url, canonical_url, domain, tier, tier_weight,
                       title, text)
SELECT 1, n, lpad(to_hex(n), 16, '0'), 'https://valmora.example/' || n, 'u' || n,
       'valmora.example', 'other', 0.1, 'Report ' || n, repeat('text ', 200)
FROM generate_series(0, {items} - 1) AS n;
INSERT INTO views (document_id, view, status, text, words, method, simulated)
SELECT id, view, 'ready', repeat('text ', 100), 100, 'llm', false
FROM documents, unnest('{{cleaned,neutralized}}'::text[]) AS view;
INSERT INTO items (key, window_id, bundle_size) SELECT key, 1, 1 FROM documents ORDER BY id;
INSERT INTO item_documents SELECT id, 0, id FROM items;
INSERT INTO rubrics (key, source, owner_model, owner_family, concept, country, scale_size, variant,
                     status, stages)
SELECT 'r' || n, 'generated', 'acme/judge-' || n, 'judge', 'order', 'Valmora', 4, 0, 'ready',
       (SELECT jsonb_agg(jsonb_build_object('label', label, 'criteria', jsonb_build_array(label)))
        FROM unnest('{{a,b,c,d}}'::text[]) AS label)
FROM generate_series(1, 5) AS n;
INSERT INTO experiments (key, tag, task_type, concept, country, window_id, model, family,
                         scale_size, replicates, config)
SELECT md5(n::text), 'order-' || n, 'ecc', 'order', 'Valmora', 1, 'acme/judge-' || n % 5 + 1,
       'family-' || n % 5, 4, {replicates},
       jsonb_build_object('scoring_method', 'single', 'evidence_view', 'neutralized', 'top_p', 1,
                          'temperature', n / 2, 'rubric', '{{"kind": "own"}}'::jsonb)
FROM generate_series(0, {experiments} - 1) AS n;
INSERT INTO experiment_items
SELECT x.id, i.id, i.id - 1 FROM experiments AS x, items AS i;
INSERT INTO sweeps (name, description, swap)
SELECT 'sweep-' || n, '', NULL FROM generate_series(1, {experiments} / 2) AS n;
INSERT INTO sweep_experiments SELECT (id + 1) / 2, id, {replicates} FROM experiments;
INSERT INTO arms (experiment_id, rubric_id, scale_size, arm)
SELECT id, 1, 4, 'own' FROM experiments ORDER BY id;
INSERT INTO llm_calls (key, workflow, agent, provider, model, experiment_id, messages, template,
                       template_hash, parameters, status, attempts, answer, finish_reason,
                       prompt_tokens, completion_tokens, cost_usd, latency_ms, simulated, sent_at,
                       served_model, fingerprint)
SELECT 'score/' || md5(a.id || '/' || i.id || '/' || r), 'w3-scoring', 'scorer', 'acme', x.model,
       x.id, jsonb_build_array(jsonb_build_object('role', 'user', 'content', md5(i.id::text) ||
       repeat(' words of a prompt', 30))), 'score', '0', '{{}}', 'succeeded', 1,
       repeat('reasoning ', 20), 'stop', 900, 200, 0.001, 800, false, now(),
       x.model || '-2026-10-01', 'fp_0a1b2c3d4' || i.id % 3
FROM arms AS a JOIN experiments AS x ON x.id = a.experiment_id, items AS i,
     generate_series(0, {replicates} - 1) AS r
ORDER BY a.id, r, i.id;
INSERT INTO samples (arm_id, item_id, replicate, scale_size, seed, letters, display_order, status,
                     stages, failure, call_id)
SELECT experiment_id, 1 + (id - 1) % {items}, (id - 1) / {items} % {replicates}, 4, id, 'CADB',
       '{{2,1,4,3}}', CASE WHEN id % 50 = 0 THEN 'failed' ELSE 'scored' END,
       CASE WHEN id % 50 <> 0 THEN 1 << (id % 4)::integer END,
       CASE WHEN id % 50 = 0 THEN 'server' END, id
FROM llm_calls ORDER BY id;
INSERT INTO llm_calls (key, workflow, agent, provider, model, experiment_id, messages, template,
                       template_hash, parameters, status, attempts, answer, finish_reason,
                       prompt_tokens, completion_tokens, cost_usd, latency_ms, simulated, sent_at,
                       served_model, fingerprint)
SELECT 'probe/' || substr(c.key, 7), 'w5-probe', 'prober', 'acme', c.model, c.experiment_id,
       c.messages, 'probe', '0', '{{}}', 'succeeded', 1, '0.7', 'stop', 900, 5, 0.0005, 300, false,
       now(), c.served_model, c.fingerprint
FROM samples AS s JOIN llm_calls AS c ON c.id = s.call_id WHERE s.status = 'scored' ORDER BY c.id;
INSERT INTO probes (sample_id, replicate, status, probability, call_id)
SELECT s.id, 0, 'answered', (s.id % 100) / 100.0, p.id
FROM samples AS s JOIN llm_calls AS c ON c.id = s.call_id
JOIN llm_calls AS p ON p.key = 'probe/' || substr(c.key, 7)
ORDER BY s.id;
INSERT INTO analysis_runs (sweep_id, version, simulated)
SELECT s.id, '1', false FROM sweeps AS s, generate_series(1, 20);
INSERT INTO analysis_results (run_id, metric, scope, scope_key, estimate, n, n_items, unit, method,
                              because, simulated)
SELECT r.id, 'metric-' || n % 20, jsonb_build_object('judge', n), 'judge' || n, 0.5, 1, 1, 'bits',
       '', '', false
FROM analysis_runs AS r, generate_series(1, 500) AS n;
SET session_replication_role = origin;
"""

IDS = "ANY ('{5,6}'::bigint[])"
"""The experiments of sweep-3, written out as `judge_gym.analysis.load` does."""
QUERIES = {
    "a sweep's samples": "samples WHERE experiment_id IN "
    "(SELECT experiment_id FROM analysis.sweeps WHERE sweep = 'sweep-3')",
    "the same by load()": "samples WHERE experiment_id = {ids}",
    "an experiment's samples": "samples WHERE experiment = 'order-7'",
    "an item across models": "samples WHERE item_id = 77",
    "a sweep's probes": "probes WHERE experiment_id = {ids}",
    "a sweep's distributions": "distributions WHERE sweep = 'sweep-3'",
    "a sweep's item pairs": "item_pairs WHERE sweep = 'sweep-3'",
    "a sweep's failures": "failures WHERE sweep = 'sweep-3'",
    "a sweep's results": "results WHERE sweep = 'sweep-3'",
    "a sweep's spending": "spending WHERE sweep = 'sweep-3'",
    "all spending": "spending",
    "all failures": "failures",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--plans", type=Path, help="Write each plan into this folder.")
    asked = parser.parse_args()
    items = asked.samples // (EXPERIMENTS * REPLICATES)
    with tempfile.TemporaryDirectory(prefix="judge-gym-bench-") as name:
        folder = Path(name) / "postgres"
        url = embedded.start(folder).url
        try:
            migrate.upgrade(url)
            engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
            with engine.connect() as connection:
                load(connection, items)
                rows = [_explained(connection, *one, asked.plans) for one in QUERIES.items()]
        finally:
            embedded.remove(folder)
    columns = ("query", "ms", "rows", "pages read", "tables read whole")
    show(f"The views at {asked.samples:,} samples", columns, rows)


def load(connection: sa.Connection, items: int) -> None:
    """Generate the rows of this many items on a migrated database, and its statistics."""
    script = LOAD.format(items=items, replicates=REPLICATES, experiments=EXPERIMENTS)
    connection.exec_driver_sql(script, execution_options={"no_parameters": True})
    connection.exec_driver_sql("VACUUM ANALYZE")


def _explained(
    connection: sa.Connection, name: str, rows_of: str, plans: Path | None
) -> tuple[str, ...]:
    query = f"SELECT * FROM analysis.{rows_of.format(ids=IDS)}"  # noqa: S608
    connection.exec_driver_sql(query).close()  # once unmeasured, so that caches are warm
    rows = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS) {query}")
    plan = "\n".join(rows.scalars())
    if plans:
        plans.mkdir(parents=True, exist_ok=True)
        (plans / f"{name.replace(' ', '_')}.txt").write_text(plan)
    time = re.search(r"Execution Time: ([\d.]+)", plan)
    found = re.search(r"rows=([\d.]+) loops", plan.split("actual", 1)[1])
    buffers = re.search(r"Buffers: shared (.*)", plan)
    pages = sum(map(int, re.findall(r"(?:hit|read)=(\d+)", buffers[1]))) if buffers else 0
    whole = sorted(set(re.findall(r"Seq Scan on (\w+)", plan)))
    large = [table for table in whole if table in ("samples", "llm_calls", "probes")]
    assert time
    assert found
    return name, f"{float(time[1]):,.0f}", found[1], f"{pages:,}", ", ".join(large) or "-"


if __name__ == "__main__":
    main()
