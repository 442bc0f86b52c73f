-- The paper's table of polarization: one row per group of judges, or per pair of families.
CREATE VIEW analysis.polarization AS
SELECT
    sweep,
    run_id,
    concept,
    country,
    window_name,
    rubric,
    mixes_rubrics,
    pair,
    scope,
    min(estimate) FILTER (WHERE metric <> 'polarization_excess' AND NOT ordinal) AS polarization,
    min(lower) FILTER (WHERE metric <> 'polarization_excess' AND NOT ordinal) AS lower,
    min(upper) FILTER (WHERE metric <> 'polarization_excess' AND NOT ordinal) AS upper,
    min(floor) FILTER (WHERE metric <> 'polarization_excess' AND NOT ordinal) AS floor,
    min(estimate) FILTER (WHERE metric = 'polarization_excess') AS excess,
    min(lower) FILTER (WHERE metric = 'polarization_excess') AS excess_lower,
    min(upper) FILTER (WHERE metric = 'polarization_excess') AS excess_upper,
    min(p) FILTER (WHERE metric <> 'polarization_excess' AND NOT ordinal) AS p,
    min(p_adjusted) FILTER (WHERE metric = 'polarization_pair') AS p_adjusted,
    min(estimate) FILTER (WHERE ordinal) AS ordinal,
    min(floor) FILTER (WHERE ordinal) AS ordinal_floor,
    max(n) AS n,
    max(n_items) AS n_items,
    string_agg(DISTINCT nullif(reason, ''), '; ') AS reason,
    bool_or(simulated) AS simulated,
    bool_or(imported) AS imported
FROM (
    SELECT *, metric = 'polarization_ordinal' AS ordinal
    FROM analysis.results
    WHERE metric IN (
        'polarization', 'polarization_excess', 'polarization_pair', 'polarization_ordinal'
    ) AND scope <> '{}'
) AS figures
GROUP BY
    sweep, run_id, concept, country, window_name, rubric, mixes_rubrics, pair, scope;

COMMENT ON VIEW analysis.polarization IS 'One row per group of judges that differ in nothing else, and per pair of families in it: polarization beside its noise floor, from the latest analysis run.';
COMMENT ON COLUMN analysis.polarization.sweep IS 'Name of the sweep.';
COMMENT ON COLUMN analysis.polarization.run_id IS 'The analysis run.';
COMMENT ON COLUMN analysis.polarization.concept IS 'What is judged.';
COMMENT ON COLUMN analysis.polarization.country IS 'Country or setting named in the prompts.';
COMMENT ON COLUMN analysis.polarization.window_name IS 'Name of the window.';
COMMENT ON COLUMN analysis.polarization.rubric IS 'Whose rubric the judges apply.';
COMMENT ON COLUMN analysis.polarization.mixes_rubrics IS 'Whether each judge had its own rubric; the headline is where this is false.';
COMMENT ON COLUMN analysis.polarization.pair IS 'The two families; NULL for all judges of the group.';
COMMENT ON COLUMN analysis.polarization.scope IS 'The scope of the figures, as JSON.';
COMMENT ON COLUMN analysis.polarization.polarization IS 'P: mean over items of the pairwise Jensen-Shannon divergence, in bits from 0 to 1.';
COMMENT ON COLUMN analysis.polarization.lower IS 'Lower end of the 95% interval of P over items.';
COMMENT ON COLUMN analysis.polarization.upper IS 'Upper end of the 95% interval of P over items.';
COMMENT ON COLUMN analysis.polarization.floor IS 'P0: the value that identical judges would give at this number of verdicts, in bits.';
COMMENT ON COLUMN analysis.polarization.excess IS 'P - P0 in bits; NULL for a pair, where it is the difference of the two columns.';
COMMENT ON COLUMN analysis.polarization.excess_lower IS 'Lower end of the 95% interval of the excess.';
COMMENT ON COLUMN analysis.polarization.excess_upper IS 'Upper end of the 95% interval of the excess.';
COMMENT ON COLUMN analysis.polarization.p IS 'Permutation p of P against P0, 0 to 1.';
COMMENT ON COLUMN analysis.polarization.p_adjusted IS 'p corrected over the pairs (Holm); NULL for a group.';
COMMENT ON COLUMN analysis.polarization.ordinal IS 'Polarization by distance on the scale, 0 to 1; NULL for a pair.';
COMMENT ON COLUMN analysis.polarization.ordinal_floor IS 'The noise floor of ordinal.';
COMMENT ON COLUMN analysis.polarization.n IS 'Verdicts behind it.';
COMMENT ON COLUMN analysis.polarization.n_items IS 'Items behind it.';
COMMENT ON COLUMN analysis.polarization.reason IS 'Why a figure is missing; NULL when none is.';
COMMENT ON COLUMN analysis.polarization.simulated IS 'Whether it rests on simulated calls; then it is not evidence about real models.';
COMMENT ON COLUMN analysis.polarization.imported IS 'Whether it rests on imported judgements.';
