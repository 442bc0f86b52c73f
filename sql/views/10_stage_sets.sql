-- The meaning of a bit set of stages: bit s-1 is stage s. Small and the same in every database.
CREATE VIEW analysis.stage_sets AS
SELECT
    bits AS stage_bits,
    array_agg(stage ORDER BY stage) AS stages,
    count(*)::integer AS size,
    avg(stage)::double precision AS mean_stage
FROM generate_series(1, 1023) AS bits
CROSS JOIN generate_series(1, 10) AS stage
WHERE bits & (1 << (stage - 1)) > 0
GROUP BY bits;

COMMENT ON VIEW analysis.stage_sets IS 'One row per possible verdict: a set of stages as a bit set and as an array. Scales have at most 10 stages.';
COMMENT ON COLUMN analysis.stage_sets.stage_bits IS 'The set as an integer from 1 to 1023: bit s-1 is set when stage s is in it.';
COMMENT ON COLUMN analysis.stage_sets.stages IS 'The same set as an ascending array of stages, 1 to 10.';
COMMENT ON COLUMN analysis.stage_sets.size IS 'Number of stages in the set, 1 to 10.';
COMMENT ON COLUMN analysis.stage_sets.mean_stage IS 'Mean of the stages in the set, 1 to 10.';
