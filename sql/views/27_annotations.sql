-- Labels of people, and of judges that were labelled beside them in the same file.
CREATE VIEW analysis.annotations AS
SELECT
    a.id AS annotation_id,
    s.name AS annotation_set,
    s.source,
    a.item,
    a.item_id,
    i.key AS item_key,
    i.window_id,
    s.rubric_id,
    r.key AS rubric_key,
    a.annotator,
    a.kind,
    a.labels,
    jsonb_array_length(a.labels) AS n_labels,
    s.described,
    a.created_at,
    false AS simulated,
    true AS imported
FROM annotations AS a
JOIN annotation_sets AS s ON s.id = a.set_id
LEFT JOIN items AS i ON i.id = a.item_id
LEFT JOIN rubrics AS r ON r.id = s.rubric_id;

COMMENT ON VIEW analysis.annotations IS 'One row per annotator and item: the label or labels given (judge-gym data import-annotations).';
COMMENT ON COLUMN analysis.annotations.annotation_id IS 'Identifier of the row in this database.';
COMMENT ON COLUMN analysis.annotations.annotation_set IS 'Name of the set: that of its file.';
COMMENT ON COLUMN analysis.annotations.source IS 'Where the labels come from, from the mapping file.';
COMMENT ON COLUMN analysis.annotations.item IS 'The item''s key in the file.';
COMMENT ON COLUMN analysis.annotations.item_id IS 'Item of the sweep; NULL for a data set without one.';
COMMENT ON COLUMN analysis.annotations.item_key IS '16-digit identity of the item; NULL for a data set without a sweep.';
COMMENT ON COLUMN analysis.annotations.window_id IS 'Window of the item; NULL for a data set without a sweep.';
COMMENT ON COLUMN analysis.annotations.rubric_id IS 'Rubric whose stages the labels name; NULL for a data set without a sweep.';
COMMENT ON COLUMN analysis.annotations.rubric_key IS 'Identity of that rubric; the same in every database.';
COMMENT ON COLUMN analysis.annotations.annotator IS 'Who gave the labels.';
COMMENT ON COLUMN analysis.annotations.kind IS 'person or judge.';
COMMENT ON COLUMN analysis.annotations.labels IS 'JSON list: one label, or several that the annotator finds acceptable.';
COMMENT ON COLUMN analysis.annotations.n_labels IS 'Number of labels.';
COMMENT ON COLUMN analysis.annotations.described IS 'JSON: score and epsilon of the alternative annotator test, labels, stages of labels.';
COMMENT ON COLUMN analysis.annotations.created_at IS 'When it was stored.';
COMMENT ON COLUMN analysis.annotations.simulated IS 'Always false: people are not simulated.';
COMMENT ON COLUMN analysis.annotations.imported IS 'Always true: it was labelled elsewhere.';
