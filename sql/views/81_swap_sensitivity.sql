-- The paper's table of swaps: each rival's rubric beside the sham of the same judge.
CREATE VIEW analysis.swap_sensitivity AS
SELECT
    swap.sweep,
    swap.run_id,
    swap.concept,
    swap.country,
    swap.judge,
    swap.rival,
    swap.scope,
    swap.estimate AS swap,
    swap.lower AS swap_lower,
    swap.upper AS swap_upper,
    swap.p AS swap_p,
    swap.p_adjusted AS swap_p_adjusted,
    swap.n_items AS swap_items,
    sham.estimate AS sham,
    sham.lower AS sham_lower,
    sham.upper AS sham_upper,
    sham.p_adjusted AS sham_p_adjusted,
    sham.n_items AS sham_items,
    nullif(concat_ws('; ', nullif(swap.reason, ''), nullif(sham.reason, '')), '') AS reason,
    swap.simulated OR coalesce(sham.simulated, false) AS simulated,
    swap.imported OR coalesce(sham.imported, false) AS imported
FROM analysis.results AS swap
LEFT JOIN analysis.results AS sham
    ON sham.run_id = swap.run_id
    AND sham.metric = 'sham_sensitivity'
    AND sham.scope = swap.scope - 'rival'
WHERE swap.metric = 'swap_sensitivity' AND swap.scope <> '{}';

COMMENT ON VIEW analysis.swap_sensitivity IS 'One row per judge and rival: change of confidence under the rival''s rubric beside that under the judge''s own rubric drawn again, from the latest analysis run.';
COMMENT ON COLUMN analysis.swap_sensitivity.sweep IS 'Name of the sweep.';
COMMENT ON COLUMN analysis.swap_sensitivity.run_id IS 'The analysis run.';
COMMENT ON COLUMN analysis.swap_sensitivity.concept IS 'What is judged.';
COMMENT ON COLUMN analysis.swap_sensitivity.country IS 'Country or setting named in the prompts.';
COMMENT ON COLUMN analysis.swap_sensitivity.judge IS 'The judge.';
COMMENT ON COLUMN analysis.swap_sensitivity.rival IS 'Model that wrote the rival''s rubric.';
COMMENT ON COLUMN analysis.swap_sensitivity.scope IS 'The scope of the figures, as JSON.';
COMMENT ON COLUMN analysis.swap_sensitivity.swap IS 'Mean change of the probed probability under the rival''s rubric, -1 to 1.';
COMMENT ON COLUMN analysis.swap_sensitivity.swap_lower IS 'Lower end of its 95% interval over items.';
COMMENT ON COLUMN analysis.swap_sensitivity.swap_upper IS 'Upper end of its 95% interval over items.';
COMMENT ON COLUMN analysis.swap_sensitivity.swap_p IS 'p of the change, 0 to 1.';
COMMENT ON COLUMN analysis.swap_sensitivity.swap_p_adjusted IS 'p corrected over the pairs (Holm).';
COMMENT ON COLUMN analysis.swap_sensitivity.swap_items IS 'Items with probes under both rubrics.';
COMMENT ON COLUMN analysis.swap_sensitivity.sham IS 'The same change under the judge''s own rubric drawn again; NULL without a sham.';
COMMENT ON COLUMN analysis.swap_sensitivity.sham_lower IS 'Lower end of its 95% interval over items.';
COMMENT ON COLUMN analysis.swap_sensitivity.sham_upper IS 'Upper end of its 95% interval over items.';
COMMENT ON COLUMN analysis.swap_sensitivity.sham_p_adjusted IS 'p of the sham corrected over the shams (Holm).';
COMMENT ON COLUMN analysis.swap_sensitivity.sham_items IS 'Items with probes under both of its own rubrics.';
COMMENT ON COLUMN analysis.swap_sensitivity.reason IS 'Why a figure is missing; NULL when none is.';
COMMENT ON COLUMN analysis.swap_sensitivity.simulated IS 'Whether it rests on simulated calls; then it is not evidence about real models.';
COMMENT ON COLUMN analysis.swap_sensitivity.imported IS 'Whether it rests on imported judgements.';
