-- Which replicates of an experiment belong to a sweep. Experiments in no sweep are rows, too, so that
-- summaries have them. A condition on the sweep leaves one half out before anything is read.
CREATE VIEW analysis.declared_replicates AS
SELECT w.name AS sweep, b.experiment_id, b.replicates
FROM sweep_experiments AS b
JOIN sweeps AS w ON w.id = b.sweep_id
UNION ALL
SELECT '', x.id, x.replicates
FROM experiments AS x
WHERE NOT EXISTS (SELECT FROM sweep_experiments AS b WHERE b.experiment_id = x.id);

COMMENT ON VIEW analysis.declared_replicates IS 'One row per sweep and experiment in it, and per experiment in no sweep: how many replicates count.';
COMMENT ON COLUMN analysis.declared_replicates.sweep IS 'Name of the sweep; empty for an experiment in no sweep.';
COMMENT ON COLUMN analysis.declared_replicates.experiment_id IS 'The experiment.';
COMMENT ON COLUMN analysis.declared_replicates.replicates IS 'Replicates below this number count: what the sweep declares, or the most that any sweep declared.';
