-- The points of rolling studies, each with its sweep and analysis run.
CREATE VIEW analysis.study_points AS
SELECT
    p.id AS point_id,
    p.study,
    p.first_day,
    p.last_day,
    p.sweep_id,
    w.name AS sweep,
    p.run_id,
    p.created_at,
    r.simulated,
    false AS imported
FROM study_points AS p
JOIN sweeps AS w ON w.id = p.sweep_id
JOIN analysis_runs AS r ON r.id = p.run_id;

COMMENT ON VIEW analysis.study_points IS 'One row per study and period. Join result_history on run_id for the figures of the period.';
COMMENT ON COLUMN analysis.study_points.point_id IS 'Identifier of the row in this database.';
COMMENT ON COLUMN analysis.study_points.study IS 'Name of the study in its file.';
COMMENT ON COLUMN analysis.study_points.first_day IS 'First day of the period.';
COMMENT ON COLUMN analysis.study_points.last_day IS 'Last day of the period, inclusive.';
COMMENT ON COLUMN analysis.study_points.sweep_id IS 'Identifier of the sweep of the period in this database.';
COMMENT ON COLUMN analysis.study_points.sweep IS 'Name of that sweep: the study and the first day.';
COMMENT ON COLUMN analysis.study_points.run_id IS 'Identifier of the analysis run that the figures of the period are from.';
COMMENT ON COLUMN analysis.study_points.created_at IS 'When the point was stored.';
COMMENT ON COLUMN analysis.study_points.simulated IS 'Whether the simulator answered; then it is not evidence about real models.';
COMMENT ON COLUMN analysis.study_points.imported IS 'Always false: it was judged here.';
