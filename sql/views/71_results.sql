-- The current figures: those of the latest analysis run of each sweep.
CREATE VIEW analysis.results AS
SELECT h.*
FROM analysis.result_history AS h
WHERE NOT EXISTS (
    SELECT FROM analysis_runs AS run
    JOIN analysis_runs AS later ON later.sweep_id = run.sweep_id AND later.id > run.id
    WHERE run.id = h.run_id
);

COMMENT ON VIEW analysis.results IS 'One row per figure of the latest analysis run of each sweep.';
COMMENT ON COLUMN analysis.results.sweep IS 'Name of the sweep that was analysed.';
COMMENT ON COLUMN analysis.results.run_id IS 'The analysis run; a later run has a greater number.';
COMMENT ON COLUMN analysis.results.run_at IS 'When the run was made.';
COMMENT ON COLUMN analysis.results.version IS 'Version of judge-gym that made it.';
COMMENT ON COLUMN analysis.results.metric IS 'Name of the figure.';
COMMENT ON COLUMN analysis.results.mixes_rubrics IS 'Whether each judge had its own rubric; then differences between judges mix rubric and judgement.';
COMMENT ON COLUMN analysis.results.concept IS 'What is judged.';
COMMENT ON COLUMN analysis.results.country IS 'Country or setting named in the prompts.';
COMMENT ON COLUMN analysis.results.window_name IS 'Name of the window; its key where it has none.';
COMMENT ON COLUMN analysis.results.task_type IS 'Task type, where the sweep has several; else NULL.';
COMMENT ON COLUMN analysis.results.rubric IS 'Whose rubric the own arms apply: own, shared by MODEL, or provided, which analysis.samples follows by its file; where a sweep provides several, provided is followed by the name of one.';
COMMENT ON COLUMN analysis.results.judge IS 'The judge, where the figure is of one.';
COMMENT ON COLUMN analysis.results.rival IS 'Model that wrote the rival''s rubric, for swaps.';
COMMENT ON COLUMN analysis.results.pair IS 'The two families compared, for figures of a pair.';
COMMENT ON COLUMN analysis.results.arm IS 'own, swap or sham, for figures of one kind of arm.';
COMMENT ON COLUMN analysis.results.axis IS 'The axis changed, for contrasts.';
COMMENT ON COLUMN analysis.results.level_from IS 'Value of that axis before.';
COMMENT ON COLUMN analysis.results.level_to IS 'Value of that axis after.';
COMMENT ON COLUMN analysis.results.scope IS 'The scope of the figure, as JSON, with the axes that vary within the sweep. Empty for a metric without data in the sweep.';
COMMENT ON COLUMN analysis.results.estimate IS 'The figure, in its unit; NULL when it cannot be estimated.';
COMMENT ON COLUMN analysis.results.lower IS 'Lower end of the 95% interval, of the total error where wordings or rubric draws vary; NULL without one.';
COMMENT ON COLUMN analysis.results.upper IS 'Upper end of the 95% interval, of the total error where wordings or rubric draws vary; NULL without one.';
COMMENT ON COLUMN analysis.results.items_lower IS 'Lower end of the interval over items alone, where lower is of the total error; else NULL.';
COMMENT ON COLUMN analysis.results.items_upper IS 'Upper end of the interval over items alone, where upper is of the total error; else NULL.';
COMMENT ON COLUMN analysis.results.df IS 'Degrees of freedom of the total error; NULL where the interval is over items.';
COMMENT ON COLUMN analysis.results.n IS 'Observations behind it, such as verdicts.';
COMMENT ON COLUMN analysis.results.n_items IS 'Items behind it.';
COMMENT ON COLUMN analysis.results.floor IS 'The value that noise alone would give; NULL for figures without a floor.';
COMMENT ON COLUMN analysis.results.p IS 'p value, 0 to 1; NULL without a test.';
COMMENT ON COLUMN analysis.results.p_adjusted IS 'p corrected for multiple comparisons as the method says; NULL without a correction.';
COMMENT ON COLUMN analysis.results.unit IS 'Unit of estimate, interval and floor.';
COMMENT ON COLUMN analysis.results.method IS 'Method of the figure, its interval and its p.';
COMMENT ON COLUMN analysis.results.remarks IS 'Remarks on the figure, as JSON: kind, number, advised, names.';
COMMENT ON COLUMN analysis.results.reason IS 'Why there is no figure, interval or p; empty when nothing is missing.';
COMMENT ON COLUMN analysis.results.simulated IS 'Whether it rests on simulated calls; then it is not evidence about real models.';
COMMENT ON COLUMN analysis.results.imported IS 'Whether it rests on imported judgements.';
COMMENT ON COLUMN analysis.results.result_id IS 'Order of the figures of a run, as the analysis wrote them.';
