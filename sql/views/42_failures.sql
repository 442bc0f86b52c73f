-- How the judgements of each arm ended.
CREATE VIEW analysis.failures AS
SELECT
    counted.*,
    abstained::double precision / nullif(scored + abstained, 0) AS abstained_share,
    unparseable::double precision / samples AS unparseable_share,
    refused::double precision / samples AS refused_share,
    failed::double precision / samples AS failed_share
FROM (
    SELECT
        d.sweep,
        a.experiment_id,
        x.tag AS experiment,
        x.concept,
        x.model,
        x.family,
        a.arm,
        count(*) AS samples,
        count(*) FILTER (WHERE s.status = 'scored') AS scored,
        count(*) FILTER (WHERE s.status = 'abstained') AS abstained,
        count(*) FILTER (WHERE s.status = 'unparseable') AS unparseable,
        count(*) FILTER (WHERE s.status = 'refused') AS refused,
        count(*) FILTER (WHERE s.status = 'failed') AS failed,
        bool_or(s.simulated) AS simulated,
        bool_or(s.imported) AS imported
    FROM samples AS s
    JOIN arms AS a ON a.id = s.arm_id
    JOIN experiments AS x ON x.id = a.experiment_id
    JOIN analysis.declared_replicates AS d
        ON d.experiment_id = a.experiment_id AND d.replicates > s.replicate
    GROUP BY d.sweep, a.experiment_id, x.tag, x.concept, x.model, x.family, a.arm
) AS counted;

COMMENT ON VIEW analysis.failures IS 'One row per sweep, experiment and kind of arm: outcomes of its judgements, in numbers and shares.';
COMMENT ON COLUMN analysis.failures.sweep IS 'Name of the sweep, whose replicates alone count; empty for an experiment in no sweep.';
COMMENT ON COLUMN analysis.failures.experiment_id IS 'The experiment, in analysis.experiments.';
COMMENT ON COLUMN analysis.failures.experiment IS 'Tag of the experiment.';
COMMENT ON COLUMN analysis.failures.concept IS 'What is judged.';
COMMENT ON COLUMN analysis.failures.model IS 'The judge.';
COMMENT ON COLUMN analysis.failures.family IS 'Family of the judge.';
COMMENT ON COLUMN analysis.failures.arm IS 'own, swap (all rivals together) or sham.';
COMMENT ON COLUMN analysis.failures.samples IS 'Number of samples.';
COMMENT ON COLUMN analysis.failures.scored IS 'Samples with a verdict.';
COMMENT ON COLUMN analysis.failures.abstained IS 'Samples in which the judge abstained.';
COMMENT ON COLUMN analysis.failures.unparseable IS 'Samples whose answer names no verdict.';
COMMENT ON COLUMN analysis.failures.refused IS 'Samples that the judge or its provider refused.';
COMMENT ON COLUMN analysis.failures.failed IS 'Samples without an answer.';
COMMENT ON COLUMN analysis.failures.simulated IS 'Whether the simulator answered any of them.';
COMMENT ON COLUMN analysis.failures.imported IS 'Whether it rests on imported judgements.';
COMMENT ON COLUMN analysis.failures.abstained_share IS 'Abstained of scored and abstained, 0 to 1; NULL without either.';
COMMENT ON COLUMN analysis.failures.unparseable_share IS 'Unparseable of all samples, 0 to 1.';
COMMENT ON COLUMN analysis.failures.refused_share IS 'Refused of all samples, 0 to 1.';
COMMENT ON COLUMN analysis.failures.failed_share IS 'Failed of all samples, 0 to 1.';
