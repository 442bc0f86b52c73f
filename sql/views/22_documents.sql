-- Evidence, document by document, in its four views, of each the newest.
CREATE VIEW analysis.documents AS
SELECT
    d.id AS document_id,
    d.key AS document_key,
    d.window_id,
    coalesce(nullif(w.name, ''), w.key) AS window_name,
    d.position,
    d.title,
    d.url,
    d.domain,
    d.tier,
    d.tier_weight,
    d.category,
    d.system,
    d.second_system,
    d.system_family,
    d.question,
    d.published,
    d.truth_value,
    d.truth_label,
    d.cut_from,
    d.text AS raw,
    cleaned.text AS cleaned,
    neutralized.text AS neutralized,
    neutralized.words AS neutralized_words,
    abstracted.text AS abstracted,
    concat_ws('; ', cleaned.failure, neutralized.failure, abstracted.failure) AS failures,
    d.simulated
    OR coalesce(cleaned.simulated OR neutralized.simulated OR abstracted.simulated, false)
        AS simulated,
    coalesce(w.source ->> 'kind' = 'recorded', false) AS imported
FROM documents AS d
JOIN windows AS w ON w.id = d.window_id
LEFT JOIN LATERAL (
    SELECT v.* FROM views AS v
    WHERE v.document_id = d.id AND v.view = 'cleaned'
    ORDER BY v.call_id DESC NULLS LAST, v.recipe LIMIT 1
) AS cleaned ON true
LEFT JOIN LATERAL (
    SELECT v.* FROM views AS v
    WHERE v.document_id = d.id AND v.view = 'neutralized'
    ORDER BY v.call_id DESC NULLS LAST, v.recipe LIMIT 1
) AS neutralized ON true
LEFT JOIN LATERAL (
    SELECT v.* FROM views AS v
    WHERE v.document_id = d.id AND v.view = 'abstracted'
    ORDER BY v.call_id DESC NULLS LAST, v.recipe LIMIT 1
) AS abstracted ON true;

COMMENT ON VIEW analysis.documents IS 'One row per document of a window, with the texts that judges may read.';
COMMENT ON COLUMN analysis.documents.document_id IS 'Identifier of the document in this database.';
COMMENT ON COLUMN analysis.documents.document_key IS '16 digits of the SHA-256 of its content; the same in every database.';
COMMENT ON COLUMN analysis.documents.window_id IS 'Window the document was collected for.';
COMMENT ON COLUMN analysis.documents.window_name IS 'Name of the window; its key where it has none.';
COMMENT ON COLUMN analysis.documents.position IS 'Position in the window, from 0.';
COMMENT ON COLUMN analysis.documents.title IS 'Title as found.';
COMMENT ON COLUMN analysis.documents.url IS 'Address as found.';
COMMENT ON COLUMN analysis.documents.domain IS 'Domain of the address; empty for a file.';
COMMENT ON COLUMN analysis.documents.tier IS 'Source tier of the domain.';
COMMENT ON COLUMN analysis.documents.tier_weight IS 'Weight of the tier, 0 to 1.';
COMMENT ON COLUMN analysis.documents.category IS 'Category that the source gives it; empty without one.';
COMMENT ON COLUMN analysis.documents.system IS 'What was compared, such as the model that wrote it, of an import; empty without one.';
COMMENT ON COLUMN analysis.documents.second_system IS 'What made the second answer of a pair, whose first is of that system; empty without one.';
COMMENT ON COLUMN analysis.documents.system_family IS 'Family of that system; empty without one.';
COMMENT ON COLUMN analysis.documents.question IS 'What it answers, which documents of several systems share; empty without one.';
COMMENT ON COLUMN analysis.documents.published IS 'Date of publication; NULL when unknown.';
COMMENT ON COLUMN analysis.documents.truth_value IS 'Known index of the document, 0 to 1; NULL without one.';
COMMENT ON COLUMN analysis.documents.truth_label IS 'Known stage label of the document; NULL without one.';
COMMENT ON COLUMN analysis.documents.cut_from IS 'Length in characters before it was cut; NULL when it is whole.';
COMMENT ON COLUMN analysis.documents.raw IS 'Text as found.';
COMMENT ON COLUMN analysis.documents.cleaned IS 'Newest text without page furniture; NULL when not made or failed.';
COMMENT ON COLUMN analysis.documents.neutralized IS 'Newest summary without tone; NULL when not made or failed.';
COMMENT ON COLUMN analysis.documents.neutralized_words IS 'Length of that summary in words.';
COMMENT ON COLUMN analysis.documents.abstracted IS 'Newest summary with names and places replaced by roles; NULL when not made or failed.';
COMMENT ON COLUMN analysis.documents.failures IS 'Why views failed, joined by semicolons; empty when none did.';
COMMENT ON COLUMN analysis.documents.simulated IS 'Whether the simulator served it or made any of its views.';
COMMENT ON COLUMN analysis.documents.imported IS 'Whether it came with an import of recorded judgements.';
