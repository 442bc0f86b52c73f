-- What people decided, by name.
CREATE VIEW analysis.decisions AS
SELECT
    d.id AS decision_id,
    d.kind,
    d.subject,
    d.judge_id,
    j.name AS judge,
    d.decision,
    d.person,
    d.reason,
    d.details,
    d.created_at
FROM decisions AS d
LEFT JOIN judges AS j ON j.id = d.judge_id;

COMMENT ON VIEW analysis.decisions IS 'One row per decision of a person: the cost of a run approved or refused, a rubric that was read approved or refused, a judge in use kept or to be reconsidered after a review.';
COMMENT ON COLUMN analysis.decisions.decision_id IS 'Identifier of the row in this database.';
COMMENT ON COLUMN analysis.decisions.kind IS 'spending, reading or review.';
COMMENT ON COLUMN analysis.decisions.subject IS 'Name of the sweep, or of the review in its file; of other studies that spend the kind and the name; of a rubric its key.';
COMMENT ON COLUMN analysis.decisions.judge_id IS 'Identifier of the judge in use that was decided about; NULL for the others.';
COMMENT ON COLUMN analysis.decisions.judge IS 'Its name when it was first used; NULL for the others.';
COMMENT ON COLUMN analysis.decisions.decision IS 'approve or refuse for spending and rubrics, keep or reconsider for a review.';
COMMENT ON COLUMN analysis.decisions.person IS 'Who decided, as they typed their name: Prefect''s open-source server knows no users.';
COMMENT ON COLUMN analysis.decisions.reason IS 'Why, in their words; may be empty.';
COMMENT ON COLUMN analysis.decisions.details IS 'JSON. Spending: calls and cost_usd that were left, spent_usd before, approved_usd in all, models without a price, approve_over_usd, the flow run. Reading: the sweep, the rubric''s owner, the flow run. Review: day, and what the review recommended.';
COMMENT ON COLUMN analysis.decisions.created_at IS 'When it was stored.';
