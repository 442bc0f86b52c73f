-- The pignistic distribution of each cell: a set's weight is shared equally among its stages.
-- Equal verdicts are counted before anything is joined, by ids alone.
CREATE VIEW analysis.distributions AS
SELECT
    d.sweep,
    d.experiment_id,
    x.experiment,
    x.model,
    x.family,
    x.setting,
    a.arm,
    d.arm_id,
    a.rubric_id,
    x.scale_size,
    d.item_id,
    d.stage,
    d.n,
    d.weight,
    d.simulated,
    d.imported,
    d.cumulative_weight
FROM (
    SELECT
        *,
        sum(weight) OVER (
            PARTITION BY sweep, experiment_id, arm_id, item_id ORDER BY stage
        ) AS cumulative_weight
    FROM (
        SELECT
            c.sweep,
            c.experiment_id,
            c.arm_id,
            c.item_id,
            g.stage,
            sum(c.n)::bigint AS n,
            (
                sum(
                    CASE WHEN c.stage_bits & (1 << (g.stage - 1)) > 0
                        THEN c.n::double precision / bit_count(c.stage_bits::bit(10))
                    ELSE 0 END
                ) / sum(c.n)
            )::double precision AS weight,
            bool_or(c.simulated) AS simulated,
            bool_or(c.imported) AS imported
        FROM (
            SELECT
                m.sweep,
                a.experiment_id,
                s.arm_id,
                s.item_id,
                s.scale_size,
                s.stages AS stage_bits,
                count(*) AS n,
                bool_or(s.simulated) AS simulated,
                bool_or(s.imported) AS imported
            FROM samples AS s
            JOIN arms AS a ON a.id = s.arm_id
            JOIN analysis.declared_replicates AS m
                ON m.experiment_id = a.experiment_id AND m.replicates > s.replicate
            WHERE s.status = 'scored'
            GROUP BY m.sweep, a.experiment_id, s.arm_id, s.item_id, s.scale_size, s.stages
        ) AS c
        JOIN generate_series(1, 10) AS g (stage) ON g.stage <= c.scale_size
        GROUP BY c.sweep, c.experiment_id, c.arm_id, c.item_id, g.stage
    ) AS weighted
) AS d
JOIN arms AS a ON a.id = d.arm_id
JOIN analysis.experiments AS x ON x.experiment_id = d.experiment_id;

COMMENT ON VIEW analysis.distributions IS 'One row per sweep, cell (experiment, arm, item) and stage: the distribution of its scored verdicts over the stages, zeros included.';
COMMENT ON COLUMN analysis.distributions.sweep IS 'Name of the sweep, whose replicates alone count; empty for an experiment in no sweep.';
COMMENT ON COLUMN analysis.distributions.experiment_id IS 'The experiment, in analysis.experiments.';
COMMENT ON COLUMN analysis.distributions.experiment IS 'Tag of the experiment.';
COMMENT ON COLUMN analysis.distributions.model IS 'The judge.';
COMMENT ON COLUMN analysis.distributions.family IS 'Family of the judge.';
COMMENT ON COLUMN analysis.distributions.setting IS 'Digest of all but the judge: equal for experiments whose judges can be compared.';
COMMENT ON COLUMN analysis.distributions.arm IS 'own, swap or sham.';
COMMENT ON COLUMN analysis.distributions.arm_id IS 'The arm, in analysis.arms.';
COMMENT ON COLUMN analysis.distributions.rubric_id IS 'The rubric applied; only stages of one rubric are the same.';
COMMENT ON COLUMN analysis.distributions.scale_size IS 'Number of stages S, 2 to 10.';
COMMENT ON COLUMN analysis.distributions.item_id IS 'The item judged, in analysis.items.';
COMMENT ON COLUMN analysis.distributions.stage IS 'A stage of the rubric, 1 to S.';
COMMENT ON COLUMN analysis.distributions.n IS 'Scored samples of the cell.';
COMMENT ON COLUMN analysis.distributions.weight IS 'Share of the verdicts for this stage, 0 to 1; a set of k stages counts 1/k for each.';
COMMENT ON COLUMN analysis.distributions.simulated IS 'Whether the simulator gave any of the verdicts.';
COMMENT ON COLUMN analysis.distributions.imported IS 'Whether it rests on imported judgements.';
COMMENT ON COLUMN analysis.distributions.cumulative_weight IS 'Share of the verdicts for this stage or a lower one, 0 to 1.';
