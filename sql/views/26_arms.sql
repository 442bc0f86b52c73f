-- Which experiment is judged under which rubric.
CREATE VIEW analysis.arms AS
SELECT
    a.id AS arm_id,
    a.experiment_id,
    x.tag AS experiment,
    x.model,
    a.arm,
    a.rubric_id,
    r.owner_model AS rubric_owner,
    a.held_out_items
FROM arms AS a
JOIN experiments AS x ON x.id = a.experiment_id
JOIN rubrics AS r ON r.id = a.rubric_id;

COMMENT ON VIEW analysis.arms IS 'One row per arm: an experiment judged under one rubric.';
COMMENT ON COLUMN analysis.arms.arm_id IS 'Identifier of the arm in this database.';
COMMENT ON COLUMN analysis.arms.experiment_id IS 'The experiment, in analysis.experiments.';
COMMENT ON COLUMN analysis.arms.experiment IS 'Tag of the experiment.';
COMMENT ON COLUMN analysis.arms.model IS 'The judge.';
COMMENT ON COLUMN analysis.arms.arm IS 'own (W3), swap (a rival''s rubric), sham (the judge''s own rubric drawn again) or old_sham (a second rubric from another prompt; not analysed).';
COMMENT ON COLUMN analysis.arms.rubric_id IS 'The rubric applied, in analysis.rubrics.';
COMMENT ON COLUMN analysis.arms.rubric_owner IS 'Model that wrote that rubric; empty when provided.';
COMMENT ON COLUMN analysis.arms.held_out_items IS 'Items on which the swap pair was chosen, excluded from the arm; empty for other arms.';
