-- The link between sweeps and experiments: an experiment may be in several sweeps.
CREATE VIEW analysis.sweeps AS
SELECT
    w.id AS sweep_id,
    w.name AS sweep,
    w.description,
    w.swap,
    w.score_critic,
    w.definition,
    w.created_at,
    x.id AS experiment_id,
    x.tag AS experiment,
    b.replicates
FROM sweeps AS w
LEFT JOIN sweep_experiments AS b ON b.sweep_id = w.id
LEFT JOIN experiments AS x ON x.id = b.experiment_id;

COMMENT ON VIEW analysis.sweeps IS 'One row per sweep and experiment in it. Views with a column sweep choose one by it. Join the others on experiment_id; in samples also limit replicate < replicates, and in probes and score_marks sample_replicate < replicates: other sweeps may have added replicates to a shared experiment.';
COMMENT ON COLUMN analysis.sweeps.sweep_id IS 'Identifier of the sweep in this database.';
COMMENT ON COLUMN analysis.sweeps.sweep IS 'Name of the sweep.';
COMMENT ON COLUMN analysis.sweeps.description IS 'Description in the sweep file.';
COMMENT ON COLUMN analysis.sweeps.swap IS 'The swap plan as JSON; NULL without one.';
COMMENT ON COLUMN analysis.sweeps.score_critic IS 'The critic of its samples'' reasoning as JSON: model, and the hash of its template; NULL without one. It chooses rows of score_marks.';
COMMENT ON COLUMN analysis.sweeps.definition IS 'What the sweep file or the definition given as JSON says, as JSON; NULL for an imported sweep.';
COMMENT ON COLUMN analysis.sweeps.created_at IS 'When the sweep was first stored.';
COMMENT ON COLUMN analysis.sweeps.experiment_id IS 'An experiment of the sweep; NULL for a sweep that names none now.';
COMMENT ON COLUMN analysis.sweeps.experiment IS 'Tag of that experiment.';
COMMENT ON COLUMN analysis.sweeps.replicates IS 'Replicates of that experiment that the sweep declares; figures of the sweep use those below it.';
