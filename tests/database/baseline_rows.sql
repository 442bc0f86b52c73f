-- A row of each table of the baseline, in plain SQL, for a database without rows: ids begin at 1.

INSERT INTO windows (key, name, query, country, max_documents, source, collected_at)
VALUES ('w', 'week', 'courts', 'Freedonia', 5, '{}', now());
INSERT INTO documents (window_id, position, key, url, canonical_url, domain, tier, tier_weight,
    title, text)
VALUES (1, 0, 'd', 'u', 'u', '', 'other', 0.1, 'Courts', 'The court sat.');
INSERT INTO dropped_documents (window_id, url, title, reason, detail)
VALUES (1, 'v', 'Sports', 'date', '2020-01-01');

INSERT INTO sweeps (name, description) VALUES ('s', 'as it was');
INSERT INTO sweep_runs (sweep_id, message) VALUES (1, 'a run');
INSERT INTO experiments (key, tag, task_type, concept, country, window_id, model, family,
    scale_size, replicates, config, recipe)
VALUES ('e', 'tag', 'ecc', 'order', 'Freedonia', 1, 'real/m', 'm', 3, 1, '{}', '{"score": "h"}'),
    ('f', 'former', 'ecc', 'order', 'Freedonia', 1, 'real/n', 'n', 3, 1, '{}', '{"score": "h"}');
INSERT INTO sweep_experiments VALUES (1, 1, 1);
INSERT INTO former_sweep_experiments VALUES (1, 2);
INSERT INTO items (key, window_id, bundle_size) VALUES ('i', 1, 1);
INSERT INTO item_documents (item_id, position, document_id) VALUES (1, 0, 1);
INSERT INTO experiment_items (experiment_id, item_id, position) VALUES (1, 1, 0);

INSERT INTO llm_batches (key, provider, model, status, calls)
VALUES ('b', 'real', 'real/m', 'planned', 1);
INSERT INTO llm_calls (key, workflow, agent, provider, model, experiment_id, messages, template,
    template_hash, parameters, status, attempts, answer, cost_usd, simulated)
VALUES ('c', 'w3-scoring', 'scorer', 'real', 'real/m', 1, '[]', 'score', 'h', '{}', 'succeeded',
    1, 'VERDICT: B', 0.25, false);
INSERT INTO gate_changes (provider, process, in_flight, reason) VALUES ('real', 'p', 2, 'a 429');

INSERT INTO views (document_id, view, status, text, method, recipe)
VALUES (1, 'cleaned', 'ready', 'The court sat.', 'library', 'h');
INSERT INTO rubrics (key, source, owner_model, owner_family, concept, country, scale_size,
    variant, status, stages)
VALUES ('r', 'generated', 'real/m', 'm', 'order', 'Freedonia', 3, 0, 'ready', '[{}, {}, {}]');
INSERT INTO arms (experiment_id, rubric_id, scale_size, arm) VALUES (1, 1, 3, 'own');
INSERT INTO samples (arm_id, item_id, replicate, scale_size, seed, letters, display_order,
    status, stages, call_id)
VALUES (1, 1, 0, 3, 7, 'ABC', '{1,2,3}', 'scored', 2, 1);
INSERT INTO probes (sample_id, replicate, status, probability) VALUES (1, 0, 'answered', 0.75);
INSERT INTO score_marks (sample_id, critic_model, template, status)
VALUES (1, 'real/m', 'h', 'no_reasoning');

INSERT INTO annotation_sets (name, source, described) VALUES ('people', 'people.csv', '{}');
INSERT INTO annotations (set_id, item, item_id, annotator, kind, labels)
VALUES (1, 'd', 1, 'ann', 'person', '["B"]');

INSERT INTO analysis_plans (sweep_id, sha256, content) VALUES (1, 'h', '{}');
INSERT INTO analysis_runs (sweep_id, version, simulated) VALUES (1, '0.1.0', false);
INSERT INTO analysis_results (run_id, metric, scope, scope_key, estimate, n, n_items, unit, method,
    simulated, because)
VALUES (1, 'polarization', '{}', '{}', 0.5, 1, 1, 'share', '', false, '');
INSERT INTO analysis_findings (run_id, hypothesis, statement, estimand, scope, scope_key, direction,
    margin, reference, estimate, n, n_items, unit, conclusion, reason, confirmatory, simulated)
VALUES (1, 'h1', 'It is high.', 'polarization', '{}', '{}', 'above', 0.1, 0, 0.5, 1, 1, 'share',
    'inconclusive', '', false, false);
INSERT INTO study_points (study, first_day, last_day, sweep_id, run_id)
VALUES ('weekly', '2026-01-05', '2026-01-11', 1, 1);

INSERT INTO judges (key, kind, name, model, config) VALUES ('j', 'rubric', 'notes', 'real/m', '{}');
INSERT INTO judge_items (key, corpus, name, text, context) VALUES ('t', '', '1', 'A note.', '');
INSERT INTO judge_results (judge_id, item_id, repeat, status, score, subscores, reason, call_ids)
VALUES (1, 1, 0, 'scored', 0.5, '{}', 'It is clear.', '{}');
INSERT INTO perturbed_texts (key, perturbation, severity, seed, model, status, text, call_ids)
VALUES ('p', 'tone', 0.5, 0, 'real/m', 'changed', 'A note!', '{}');
INSERT INTO calibration_checks (judge_id, corpus, calibration, name, question, result, reason,
    action, metric, n, n_items, unit, method, beside)
VALUES (1, '', 'notes', 'band', 'In band?', 'passes', '', '', 'share', 1, 1, '', '', '[]');
INSERT INTO judge_reviews (review, reviewed_on, judge_id, corpus, decision, figures, recommendation,
    reason)
VALUES ('notes', '2026-01-05', 1, '', '', '{}', 'keep', '');
INSERT INTO alignment_looks (alignment, before_id, chosen_id, test_digest, items_digest, item_keys)
VALUES ('notes', 1, 1, 'h', 'h', '["t"]');
INSERT INTO decisions (kind, subject, judge_id, decision, person, reason, details)
VALUES ('review', 'notes', 1, 'keep', 'ann', 'It works.', '{}');

INSERT INTO panels (key, name, config) VALUES ('p', 'editors', '{}');
INSERT INTO panel_documents (key, name, title, items, shown_items)
VALUES ('d', 'draft', 'A draft', '[{}]', 1);
INSERT INTO panel_reviews (panel_id, document_id, rater, attempt, label, model, status, failure,
    call_ids)
VALUES (1, 1, 'first', 0, 'First', 'real/m', 'error', 'timeout', '{}');
INSERT INTO panel_consensus (panel_id, document_id, attempt, review_ids, model, status, failure,
    call_ids)
VALUES (1, 1, 0, '{1}', 'real/m', 'error', 'timeout', '{}');
