-- What each run of a panel came to, attempt by attempt.
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
    c.model,
    c.tier,
    c.latency_ms,
    c.call_ids,
    c.created_at,
    c.simulated
FROM panel_consensus AS c
JOIN panels AS p ON p.id = c.panel_id
JOIN panel_documents AS d ON d.id = c.document_id;

COMMENT ON VIEW analysis.panel_consensus IS 'One row for each run of a panel on a document that asked somebody (judge-gym panel run); the last attempt counts.';
COMMENT ON COLUMN analysis.panel_consensus.consensus_id IS 'Identifier of the row in this database.';
COMMENT ON COLUMN analysis.panel_consensus.panel_key IS '16-digit identity of the panel: configuration and prompts, without name and budget.';
COMMENT ON COLUMN analysis.panel_consensus.panel IS 'What the panel was called when it was first used.';
COMMENT ON COLUMN analysis.panel_consensus.document_key IS '16-digit identity of the document: all its content.';
COMMENT ON COLUMN analysis.panel_consensus.document IS 'The id that the document was given.';
COMMENT ON COLUMN analysis.panel_consensus.attempt IS 'The number of the run, from 0.';
COMMENT ON COLUMN analysis.panel_consensus.status IS 'done, error or cancelled.';
COMMENT ON COLUMN analysis.panel_consensus.final_score IS 'The consensus, within the overall scores of the reviews; NULL unless done.';
COMMENT ON COLUMN analysis.panel_consensus.raw_score IS 'What the arbiter said, before it was held within them; NULL unless done.';
COMMENT ON COLUMN analysis.panel_consensus.mean IS 'Mean of the overall scores to one decimal; NULL with fewer than two reviews.';
COMMENT ON COLUMN analysis.panel_consensus.median IS 'Median of the overall scores.';
COMMENT ON COLUMN analysis.panel_consensus.spread IS 'The highest overall score less the lowest.';
COMMENT ON COLUMN analysis.panel_consensus.level IS 'strong, moderate or weak: a spread of at most a quarter, at most half, or more of the scale.';
COMMENT ON COLUMN analysis.panel_consensus.reviews IS 'How many reviews there were.';
COMMENT ON COLUMN analysis.panel_consensus.review_ids IS 'Their review_id in analysis.panel_scores.';
COMMENT ON COLUMN analysis.panel_consensus.rationale IS 'The arbiter''s own words.';
COMMENT ON COLUMN analysis.panel_consensus.failure IS 'Why there is no consensus; NULL when there is one.';
COMMENT ON COLUMN analysis.panel_consensus.model IS 'The arbiter''s model.';
COMMENT ON COLUMN analysis.panel_consensus.tier IS 'Which way of asking gave the answer: schema, json or text.';
COMMENT ON COLUMN analysis.panel_consensus.latency_ms IS 'Milliseconds from asking the arbiter to the end; NULL when it was not asked.';
COMMENT ON COLUMN analysis.panel_consensus.call_ids IS 'Its rows of analysis.calls, as long as the ledger has them.';
COMMENT ON COLUMN analysis.panel_consensus.created_at IS 'When it was stored.';
COMMENT ON COLUMN analysis.panel_consensus.simulated IS 'Whether the simulator had a part in it.';
