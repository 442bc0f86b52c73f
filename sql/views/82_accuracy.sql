-- The paper's table of accuracy: controls and benchmarks, judge by judge.
CREATE VIEW analysis.accuracy AS
SELECT
    sweep,
    run_id,
    concept,
    country,
    judge,
    scope ->> 'system' AS system,
    scope ->> 'category' AS category,
    scope,
    min(estimate) FILTER (WHERE metric = 'accuracy') AS accuracy,
    min(lower) FILTER (WHERE metric = 'accuracy') AS lower,
    min(upper) FILTER (WHERE metric = 'accuracy') AS upper,
    min(estimate) FILTER (WHERE metric = 'cohens_kappa') AS kappa,
    min(estimate) FILTER (WHERE metric = 'coverage') AS coverage,
    min(estimate) FILTER (WHERE metric = 'accuracy_discounted') AS discounted,
    min(estimate) FILTER (WHERE metric = 'accuracy_u65') AS u65,
    min(estimate) FILTER (WHERE metric = 'accuracy_u80') AS u80,
    min(estimate) FILTER (WHERE metric = 'control_error') AS control_error,
    min(estimate) FILTER (WHERE metric = 'control_rank_correlation') AS rank_correlation,
    min(estimate) FILTER (WHERE metric = 'letter_overconfidence') AS letter_overconfidence,
    min(estimate) FILTER (WHERE metric = 'letter_brier_score') AS letter_brier_score,
    max(n) AS n,
    max(n_items) AS n_items,
    string_agg(DISTINCT nullif(reason, ''), '; ') AS reason,
    bool_or(simulated) AS simulated,
    bool_or(imported) AS imported
FROM analysis.results
WHERE metric IN (
    'accuracy', 'cohens_kappa', 'coverage', 'accuracy_discounted', 'accuracy_u65', 'accuracy_u80',
    'control_error', 'control_rank_correlation', 'letter_overconfidence', 'letter_brier_score'
) AND scope <> '{}'
GROUP BY sweep, run_id, concept, country, judge, scope;

COMMENT ON VIEW analysis.accuracy IS 'One row per judge of a control or benchmark, and per system and category of its items: verdicts against what is known, from the latest analysis run.';
COMMENT ON COLUMN analysis.accuracy.sweep IS 'Name of the sweep.';
COMMENT ON COLUMN analysis.accuracy.run_id IS 'The analysis run.';
COMMENT ON COLUMN analysis.accuracy.concept IS 'What is judged.';
COMMENT ON COLUMN analysis.accuracy.country IS 'Country or setting named in the prompts.';
COMMENT ON COLUMN analysis.accuracy.judge IS 'The judge.';
COMMENT ON COLUMN analysis.accuracy.system IS 'The system whose items it is of; NULL for all items.';
COMMENT ON COLUMN analysis.accuracy.category IS 'The category whose items it is of; NULL for all items.';
COMMENT ON COLUMN analysis.accuracy.scope IS 'The scope of the figures, as JSON.';
COMMENT ON COLUMN analysis.accuracy.accuracy IS 'Share of verdicts at the true stage, 0 to 1; NULL for sets of stages.';
COMMENT ON COLUMN analysis.accuracy.lower IS 'Lower end of its 95% interval.';
COMMENT ON COLUMN analysis.accuracy.upper IS 'Upper end of its 95% interval.';
COMMENT ON COLUMN analysis.accuracy.kappa IS 'Cohen''s kappa, up to 1; guessing gives 0.';
COMMENT ON COLUMN analysis.accuracy.coverage IS 'Share of sets that contain the true stage, 0 to 1; NULL for single stages.';
COMMENT ON COLUMN analysis.accuracy.discounted IS 'Mean of 1/size if the set contains the true stage, else 0; 0 to 1.';
COMMENT ON COLUMN analysis.accuracy.u65 IS 'Utility u65 of the sets, 0 to 1.';
COMMENT ON COLUMN analysis.accuracy.u80 IS 'Utility u80 of the sets, 0 to 1.';
COMMENT ON COLUMN analysis.accuracy.control_error IS 'Mean distance from the index on the 0-1 scale; NULL for benchmarks.';
COMMENT ON COLUMN analysis.accuracy.rank_correlation IS 'Spearman''s rho with the index over items, -1 to 1; NULL for benchmarks.';
COMMENT ON COLUMN analysis.accuracy.letter_overconfidence IS 'Mean token probability of the verdict''s letter less the share of right verdicts, -1 to 1; NULL without logprobs.';
COMMENT ON COLUMN analysis.accuracy.letter_brier_score IS 'Mean squared error of that probability, 0 to 1; NULL without logprobs.';
COMMENT ON COLUMN analysis.accuracy.n IS 'Verdicts behind it.';
COMMENT ON COLUMN analysis.accuracy.n_items IS 'Items behind it.';
COMMENT ON COLUMN analysis.accuracy.reason IS 'Why a figure is missing; NULL when none is.';
COMMENT ON COLUMN analysis.accuracy.simulated IS 'Whether it rests on simulated calls; then it is not evidence about real models.';
COMMENT ON COLUMN analysis.accuracy.imported IS 'Whether it rests on imported judgements.';
