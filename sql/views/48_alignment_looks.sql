-- Looks of alignments at their sealed test sets, and uses of labelled texts by certificates.
CREATE VIEW analysis.alignment_looks AS
SELECT
    l.id AS look_id,
    l.alignment,
    l.before_id,
    b.key AS before_key,
    b.name AS before,
    b.model AS before_model,
    l.chosen_id,
    c.key AS chosen_key,
    c.name AS chosen,
    l.test_digest,
    l.items_digest,
    l.item_keys,
    jsonb_array_length(l.item_keys) AS items,
    l.created_at,
    l.simulated,
    false AS imported
FROM alignment_looks AS l
JOIN judges AS b ON b.id = l.before_id
JOIN judges AS c ON c.id = l.chosen_id;

COMMENT ON VIEW analysis.alignment_looks IS 'One row for each look at a sealed test set (judge-gym judge align), and for each use of labelled texts by a certificate (judge-gym judge certify), whose judge is both before and chosen. Texts that were looked at are used up: a later alignment leaves them out of its test, and a later certificate names the use.';
COMMENT ON COLUMN analysis.alignment_looks.look_id IS 'Identifier of the row in this database.';
COMMENT ON COLUMN analysis.alignment_looks.alignment IS 'Its name in the alignment file; of a certificate, whose it is.';
COMMENT ON COLUMN analysis.alignment_looks.before_id IS 'Identifier of the judge before in this database.';
COMMENT ON COLUMN analysis.alignment_looks.before_key IS '16-digit identity of the judge before: configuration and prompt, without name and budget.';
COMMENT ON COLUMN analysis.alignment_looks.before IS 'Name of the judge before when it was first used.';
COMMENT ON COLUMN analysis.alignment_looks.before_model IS 'The model that answers for it.';
COMMENT ON COLUMN analysis.alignment_looks.chosen_id IS 'Identifier of the candidate that was chosen on development.';
COMMENT ON COLUMN analysis.alignment_looks.chosen_key IS '16-digit identity of that candidate.';
COMMENT ON COLUMN analysis.alignment_looks.chosen IS 'Name of that candidate when it was first used.';
COMMENT ON COLUMN analysis.alignment_looks.test_digest IS 'Digest of the keys and labels of all labelled texts of the test part.';
COMMENT ON COLUMN analysis.alignment_looks.items_digest IS 'Digest of the keys and labels of the texts of this look.';
COMMENT ON COLUMN analysis.alignment_looks.item_keys IS 'JSON: the keys of the texts of this look, as in analysis.judge_results.';
COMMENT ON COLUMN analysis.alignment_looks.items IS 'The number of these texts.';
COMMENT ON COLUMN analysis.alignment_looks.created_at IS 'When the test set was opened.';
COMMENT ON COLUMN analysis.alignment_looks.simulated IS 'Whether the simulator answered or made a text; then it is not evidence about real judges.';
COMMENT ON COLUMN analysis.alignment_looks.imported IS 'Always false: it was judged here.';
