-- The checks of the last calibration of each judge on each corpus.
CREATE VIEW analysis.calibration_checks AS
SELECT
    c.id AS check_id,
    c.judge_id,
    j.key AS judge_key,
    j.name AS judge,
    j.model,
    c.corpus,
    c.calibration,
    c.name,
    c.perturbation,
    c.question,
    replace(c.result, 'inconclusive', 'cannot tell') AS result,
    c.reason,
    c.action,
    c.metric,
    c.estimate,
    c.lower,
    c.upper,
    c.n,
    c.n_items,
    c.unit,
    c.method,
    c.p,
    c.p_adjusted,
    c.beside,
    c.created_at,
    c.simulated,
    false AS imported
FROM calibration_checks AS c
JOIN judges AS j ON j.id = c.judge_id;

COMMENT ON VIEW analysis.calibration_checks IS 'One row for each check of a product judge by the last calibration on a corpus (judge-gym judge calibrate).';
COMMENT ON COLUMN analysis.calibration_checks.check_id IS 'Identifier of the check in this database.';
COMMENT ON COLUMN analysis.calibration_checks.judge_id IS 'Identifier of the judge in this database.';
COMMENT ON COLUMN analysis.calibration_checks.judge_key IS '16-digit identity of the judge: configuration and prompt, without name and budget.';
COMMENT ON COLUMN analysis.calibration_checks.judge IS 'Name of the judge when it was first used.';
COMMENT ON COLUMN analysis.calibration_checks.model IS 'The model, function or address that answers.';
COMMENT ON COLUMN analysis.calibration_checks.corpus IS 'Digest of the file of the texts.';
COMMENT ON COLUMN analysis.calibration_checks.calibration IS 'Name of the last calibration of this judge on these texts.';
COMMENT ON COLUMN analysis.calibration_checks.name IS 'Stable name of the check, such as drop:vague_ify or band.';
COMMENT ON COLUMN analysis.calibration_checks.perturbation IS 'The change of the texts; empty for a check of the originals.';
COMMENT ON COLUMN analysis.calibration_checks.question IS 'The tested claim, as a sentence.';
COMMENT ON COLUMN analysis.calibration_checks.result IS 'passes, fails, cannot tell or not applicable; decided by an interval or a corrected test.';
COMMENT ON COLUMN analysis.calibration_checks.reason IS 'The figure with its interval in words, or why there is none.';
COMMENT ON COLUMN analysis.calibration_checks.action IS 'Recommended action; empty if none is needed.';
COMMENT ON COLUMN analysis.calibration_checks.metric IS 'Name of the figure.';
COMMENT ON COLUMN analysis.calibration_checks.estimate IS 'The figure, in its unit; NULL when it cannot be estimated.';
COMMENT ON COLUMN analysis.calibration_checks.lower IS 'Lower end of the 95% interval; NULL without one.';
COMMENT ON COLUMN analysis.calibration_checks.upper IS 'Upper end of the 95% interval; NULL without one.';
COMMENT ON COLUMN analysis.calibration_checks.n IS 'Judgements or values behind it.';
COMMENT ON COLUMN analysis.calibration_checks.n_items IS 'Texts behind it.';
COMMENT ON COLUMN analysis.calibration_checks.unit IS 'Unit of estimate and interval; points are of 100.';
COMMENT ON COLUMN analysis.calibration_checks.method IS 'Method of the interval, and the hypothesis of p.';
COMMENT ON COLUMN analysis.calibration_checks.p IS 'p of the test that method names, 0 to 1; NULL without one.';
COMMENT ON COLUMN analysis.calibration_checks.p_adjusted IS 'p after Holm over the checks of its family; NULL without one.';
COMMENT ON COLUMN analysis.calibration_checks.beside IS 'Figures to be read with it, such as d_z and d_av: a JSON list.';
COMMENT ON COLUMN analysis.calibration_checks.created_at IS 'When it was stored.';
COMMENT ON COLUMN analysis.calibration_checks.simulated IS 'Whether the simulator answered or made a text.';
COMMENT ON COLUMN analysis.calibration_checks.imported IS 'Always false: it was judged here.';
