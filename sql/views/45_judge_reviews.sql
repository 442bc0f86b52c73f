-- Results of reviews of judges in use and their alternatives, by day.
CREATE VIEW analysis.judge_reviews AS
SELECT
    r.id AS review_id,
    r.review,
    r.reviewed_on,
    r.judge_id,
    j.key AS judge_key,
    j.name AS judge,
    j.model,
    r.alternative_id,
    a.key AS alternative_key,
    a.name AS alternative,
    a.model AS alternative_model,
    r.corpus,
    r.decision,
    r.recommendation,
    r.reason,
    r.figures,
    r.created_at,
    r.simulated,
    false AS imported
FROM judge_reviews AS r
JOIN judges AS j ON j.id = r.judge_id
LEFT JOIN judges AS a ON a.id = r.alternative_id;

COMMENT ON VIEW analysis.judge_reviews IS 'One row for each day, judge in use and alternative to it, and one for the judge itself compared with its last review (judge-gym judge review).';
COMMENT ON COLUMN analysis.judge_reviews.review_id IS 'Identifier of the row in this database.';
COMMENT ON COLUMN analysis.judge_reviews.review IS 'Its name in the review file.';
COMMENT ON COLUMN analysis.judge_reviews.reviewed_on IS 'The day the review stands for.';
COMMENT ON COLUMN analysis.judge_reviews.judge_id IS 'Identifier of the judge in use in this database.';
COMMENT ON COLUMN analysis.judge_reviews.judge_key IS '16-digit identity of the judge in use: configuration and prompt, without name and budget.';
COMMENT ON COLUMN analysis.judge_reviews.judge IS 'Name of the judge in use when it was first used.';
COMMENT ON COLUMN analysis.judge_reviews.model IS 'The model, function or address that answers for it.';
COMMENT ON COLUMN analysis.judge_reviews.alternative_id IS 'Identifier of the alternative; NULL for the judge in use compared with its last review.';
COMMENT ON COLUMN analysis.judge_reviews.alternative_key IS '16-digit identity of the alternative; NULL without one.';
COMMENT ON COLUMN analysis.judge_reviews.alternative IS 'Name of the alternative when it was first used; NULL without one.';
COMMENT ON COLUMN analysis.judge_reviews.alternative_model IS 'The model, function or address that answers for the alternative; NULL without one.';
COMMENT ON COLUMN analysis.judge_reviews.corpus IS 'Digest of the file of the texts.';
COMMENT ON COLUMN analysis.judge_reviews.decision IS 'The past decision, from the review file.';
COMMENT ON COLUMN analysis.judge_reviews.recommendation IS 'keep, reconsider or cannot tell; a person decides.';
COMMENT ON COLUMN analysis.judge_reviews.reason IS 'Why, as a sentence; it begins with cannot tell where more items are needed.';
COMMENT ON COLUMN analysis.judge_reviews.figures IS 'JSON: names, day of the last review (since), checks with figures and intervals, further figures, judgements by status, US dollars a judgement.';
COMMENT ON COLUMN analysis.judge_reviews.created_at IS 'When it was stored.';
COMMENT ON COLUMN analysis.judge_reviews.simulated IS 'Whether the simulator answered or made a text; then it is not evidence about real judges.';
COMMENT ON COLUMN analysis.judge_reviews.imported IS 'Always false: it was judged here.';
