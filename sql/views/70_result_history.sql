-- Every figure of every analysis run, the scope's entries as columns.
CREATE VIEW analysis.result_history AS
SELECT
    r.id AS result_id,
    w.name AS sweep,
    r.run_id,
    n.created_at AS run_at,
    n.version,
    regexp_replace(r.metric, '_mixed$', '') AS metric,
    r.metric LIKE '%\_mixed' OR r.scope ->> 'rubric' = 'own' AS mixes_rubrics,
    r.scope ->> 'concept' AS concept,
    r.scope ->> 'country' AS country,
    r.scope ->> 'window' AS window_name,
    r.scope ->> 'task_type' AS task_type,
    r.scope ->> 'rubric' AS rubric,
    r.scope ->> 'judge' AS judge,
    r.scope ->> 'rival' AS rival,
    r.scope ->> 'pair' AS pair,
    r.scope ->> 'arm' AS arm,
    r.scope ->> 'axis' AS axis,
    r.scope ->> 'from' AS level_from,
    r.scope ->> 'to' AS level_to,
    r.scope,
    r.estimate,
    r.lower,
    r.upper,
    r.items_lower,
    r.items_upper,
    r.df,
    r.n,
    r.n_items,
    r.floor,
    r.p,
    r.p_adjusted,
    r.unit,
    r.method,
    r.remarks,
    CASE
        WHEN r.because = '' THEN ''
        WHEN r.estimate IS NULL THEN 'not estimable, because ' || r.because
        ELSE 'no interval, because ' || r.because
    END AS reason,
    r.simulated,
    r.imported
FROM analysis_results AS r
JOIN analysis_runs AS n ON n.id = r.run_id
JOIN sweeps AS w ON w.id = n.sweep_id;

COMMENT ON VIEW analysis.result_history IS 'One row per figure of every analysis run.';
COMMENT ON COLUMN analysis.result_history.sweep IS 'Name of the sweep that was analysed.';
COMMENT ON COLUMN analysis.result_history.run_id IS 'The analysis run; a later run has a greater number.';
COMMENT ON COLUMN analysis.result_history.run_at IS 'When the run was made.';
COMMENT ON COLUMN analysis.result_history.version IS 'Version of judge-gym that made it.';
COMMENT ON COLUMN analysis.result_history.metric IS 'Name of the figure.';
COMMENT ON COLUMN analysis.result_history.mixes_rubrics IS 'Whether each judge had its own rubric; then differences between judges mix rubric and judgement.';
COMMENT ON COLUMN analysis.result_history.concept IS 'What is judged.';
COMMENT ON COLUMN analysis.result_history.country IS 'Country or setting named in the prompts.';
COMMENT ON COLUMN analysis.result_history.window_name IS 'Name of the window; its key where it has none.';
COMMENT ON COLUMN analysis.result_history.task_type IS 'Task type, where the sweep has several; else NULL.';
COMMENT ON COLUMN analysis.result_history.rubric IS 'Whose rubric the own arms apply.';
COMMENT ON COLUMN analysis.result_history.judge IS 'The judge, where the figure is of one.';
COMMENT ON COLUMN analysis.result_history.rival IS 'Model that wrote the rival''s rubric, for swaps.';
COMMENT ON COLUMN analysis.result_history.pair IS 'The two families compared, for figures of a pair.';
COMMENT ON COLUMN analysis.result_history.arm IS 'own, swap or sham, for figures of one kind of arm.';
COMMENT ON COLUMN analysis.result_history.axis IS 'The axis changed, for contrasts.';
COMMENT ON COLUMN analysis.result_history.level_from IS 'Value of that axis before.';
COMMENT ON COLUMN analysis.result_history.level_to IS 'Value of that axis after.';
COMMENT ON COLUMN analysis.result_history.scope IS 'The scope of the figure, as JSON, with the axes that vary within the sweep. Empty for a metric without data in the sweep.';
COMMENT ON COLUMN analysis.result_history.estimate IS 'The figure, in its unit; NULL when it cannot be estimated.';
COMMENT ON COLUMN analysis.result_history.lower IS 'Lower end of the 95% interval, of the total error where wordings or rubric draws vary; NULL without one.';
COMMENT ON COLUMN analysis.result_history.upper IS 'Upper end of the 95% interval, of the total error where wordings or rubric draws vary; NULL without one.';
COMMENT ON COLUMN analysis.result_history.items_lower IS 'Lower end of the interval over items alone, where lower is of the total error; else NULL.';
COMMENT ON COLUMN analysis.result_history.items_upper IS 'Upper end of the interval over items alone, where upper is of the total error; else NULL.';
COMMENT ON COLUMN analysis.result_history.df IS 'Degrees of freedom of the total error; NULL where the interval is over items.';
COMMENT ON COLUMN analysis.result_history.n IS 'Observations behind it, such as verdicts.';
COMMENT ON COLUMN analysis.result_history.n_items IS 'Items behind it.';
COMMENT ON COLUMN analysis.result_history.floor IS 'The value that noise alone would give; NULL for figures without a floor.';
COMMENT ON COLUMN analysis.result_history.p IS 'p value, 0 to 1; NULL without a test.';
COMMENT ON COLUMN analysis.result_history.p_adjusted IS 'p corrected for multiple comparisons as the method says; NULL without a correction.';
COMMENT ON COLUMN analysis.result_history.unit IS 'Unit of estimate, interval and floor.';
COMMENT ON COLUMN analysis.result_history.method IS 'Method of the figure, its interval and its p.';
COMMENT ON COLUMN analysis.result_history.remarks IS 'Remarks on the figure, as JSON: kind, number, advised, names.';
COMMENT ON COLUMN analysis.result_history.reason IS 'Why there is no figure, interval or p; empty when nothing is missing.';
COMMENT ON COLUMN analysis.result_history.simulated IS 'Whether it rests on simulated calls; then it is not evidence about real models.';
COMMENT ON COLUMN analysis.result_history.imported IS 'Whether it rests on imported judgements.';
COMMENT ON COLUMN analysis.result_history.result_id IS 'Order of the figures of a run, as the analysis wrote them.';
