-- The consensus of each run of a panel, by attempt.
CREATE VIEW analysis.panel_consensus AS
SELECT
    c.id AS consensus_id,
    p.key AS panel_key,
    p.name AS panel,
    d.key AS document_key,
    d.name AS document,
    c.attempt,
    c.status,
    c.final_score,
    c.raw_score,
    c.mean,
    c.median,
    c.spread,
    c.level,
    cardinality(c.review_ids) AS reviews,
    c.review_ids,
    c.rationale,
    c.failure,
    c.failure_kind,
    c.model,
    c.tier,
    c.latency_ms,
    c.call_ids,
    c.created_at,
    c.simulated,
    false AS imported
FROM panel_consensus AS c
JOIN panels AS p ON p.id = c.panel_id
JOIN panel_documents AS d ON d.id = c.document_id;

COMMENT ON VIEW analysis.panel_consensus IS 'One row for each run of a panel on a document that made calls (judge-gym panel run); the last attempt counts.';
COMMENT ON COLUMN analysis.panel_consensus.consensus_id IS 'Identifier of the row in this database.';
COMMENT ON COLUMN analysis.panel_consensus.panel_key IS '16-digit identity of the panel: configuration and prompts, without name and budget.';
COMMENT ON COLUMN analysis.panel_consensus.panel IS 'Name of the panel when it was first used.';
COMMENT ON COLUMN analysis.panel_consensus.document_key IS '16-digit identity of the document: all its content.';
COMMENT ON COLUMN analysis.panel_consensus.document IS 'The id of the document in its file.';
COMMENT ON COLUMN analysis.panel_consensus.attempt IS 'The number of the run, from 0.';
COMMENT ON COLUMN analysis.panel_consensus.status IS 'done, error or cancelled.';
COMMENT ON COLUMN analysis.panel_consensus.final_score IS 'The consensus, within the overall scores of the reviews; NULL unless done.';
COMMENT ON COLUMN analysis.panel_consensus.raw_score IS 'Score of the arbiter before it was bounded by the reviews; NULL unless done.';
COMMENT ON COLUMN analysis.panel_consensus.mean IS 'Mean of the overall scores to one decimal; NULL with fewer than two reviews.';
COMMENT ON COLUMN analysis.panel_consensus.median IS 'Median of the overall scores.';
COMMENT ON COLUMN analysis.panel_consensus.spread IS 'The highest overall score less the lowest.';
COMMENT ON COLUMN analysis.panel_consensus.level IS 'strong, moderate or weak: a spread of at most a quarter, at most half, or more of the scale.';
COMMENT ON COLUMN analysis.panel_consensus.reviews IS 'Number of reviews.';
COMMENT ON COLUMN analysis.panel_consensus.review_ids IS 'Their review_id in analysis.panel_scores.';
COMMENT ON COLUMN analysis.panel_consensus.rationale IS 'Text of the arbiter.';
COMMENT ON COLUMN analysis.panel_consensus.failure IS 'Why there is no consensus; NULL when there is one.';
COMMENT ON COLUMN analysis.panel_consensus.failure_kind IS 'The kind of failure, such as timeout or truncated: failure up to its colon.';
COMMENT ON COLUMN analysis.panel_consensus.model IS 'The arbiter''s model.';
COMMENT ON COLUMN analysis.panel_consensus.tier IS 'Format that gave the answer: schema, json or text.';
COMMENT ON COLUMN analysis.panel_consensus.latency_ms IS 'Milliseconds from the request to the arbiter to the end; NULL if it was not called.';
COMMENT ON COLUMN analysis.panel_consensus.call_ids IS 'Its rows of analysis.calls, as long as the ledger has them.';
COMMENT ON COLUMN analysis.panel_consensus.created_at IS 'When it was stored.';
COMMENT ON COLUMN analysis.panel_consensus.simulated IS 'Whether any of it came from the simulator.';
COMMENT ON COLUMN analysis.panel_consensus.imported IS 'Always false: it was judged here.';
