-- Scores of each rater of a panel for each item of a document, and for the document.
CREATE VIEW analysis.panel_scores AS
SELECT
    r.id AS review_id,
    p.key AS panel_key,
    p.name AS panel,
    d.key AS document_key,
    d.name AS document,
    r.rater,
    r.label,
    r.model,
    given.item,
    given.score,
    given.comment,
    r.tier,
    r.latency_ms,
    r.call_ids,
    r.created_at,
    r.simulated,
    false AS imported
FROM panel_reviews AS r
JOIN panels AS p ON p.id = r.panel_id
JOIN panel_documents AS d ON d.id = r.document_id
CROSS JOIN LATERAL (
    SELECT one.id AS item, one.score, one.comment
    FROM jsonb_to_recordset(r.items) AS one (id text, score integer, comment text)
    UNION ALL
    SELECT '', r.overall_score, r.overall_comment
) AS given
WHERE r.status = 'done';

COMMENT ON VIEW analysis.panel_scores IS 'One row for each score of a rater of a panel (judge-gym panel run): of an item, or of the document as a whole.';
COMMENT ON COLUMN analysis.panel_scores.review_id IS 'Identifier of the review in this database.';
COMMENT ON COLUMN analysis.panel_scores.panel_key IS '16-digit identity of the panel: configuration and prompts, without name and budget.';
COMMENT ON COLUMN analysis.panel_scores.panel IS 'Name of the panel when it was first used.';
COMMENT ON COLUMN analysis.panel_scores.document_key IS '16-digit identity of the document: all its content.';
COMMENT ON COLUMN analysis.panel_scores.document IS 'The id of the document in its file.';
COMMENT ON COLUMN analysis.panel_scores.rater IS 'rater_a, rater_b, ... in the order of the panel.';
COMMENT ON COLUMN analysis.panel_scores.label IS 'Focus of the rater.';
COMMENT ON COLUMN analysis.panel_scores.model IS 'The model that answered.';
COMMENT ON COLUMN analysis.panel_scores.item IS 'The id of the item; empty for the document as a whole.';
COMMENT ON COLUMN analysis.panel_scores.score IS 'A whole number on the scale of the panel''s rubric.';
COMMENT ON COLUMN analysis.panel_scores.comment IS 'Text of the rater.';
COMMENT ON COLUMN analysis.panel_scores.tier IS 'Format that gave the answer: schema, json or text; judge for a judge as a rater.';
COMMENT ON COLUMN analysis.panel_scores.latency_ms IS 'Milliseconds from the request to the answer, with all attempts.';
COMMENT ON COLUMN analysis.panel_scores.call_ids IS 'Its rows of analysis.calls, as long as the ledger has them.';
COMMENT ON COLUMN analysis.panel_scores.created_at IS 'When it was stored.';
COMMENT ON COLUMN analysis.panel_scores.simulated IS 'Whether the simulator answered.';
COMMENT ON COLUMN analysis.panel_scores.imported IS 'Always false: it was judged here.';
