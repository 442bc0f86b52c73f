-- What is judged at once. The documents are grouped apart, so that a query that does not ask for
-- them does not read them.
CREATE VIEW analysis.items AS
SELECT
    i.id AS item_id,
    i.key AS item_key,
    i.window_id,
    coalesce(nullif(w.name, ''), w.key) AS window_name,
    w.country,
    i.bundle_size,
    d.titles,
    d.urls,
    d.tiers,
    d.tier_weight,
    d.first_published,
    d.last_published,
    d.truth_value,
    d.truth_label,
    d.simulated_views
FROM items AS i
JOIN windows AS w ON w.id = i.window_id
LEFT JOIN (
    SELECT
        b.item_id,
        array_agg(o.title ORDER BY b.position) AS titles,
        array_agg(o.url ORDER BY b.position) AS urls,
        array_agg(o.tier ORDER BY b.position) AS tiers,
        avg(o.tier_weight) AS tier_weight,
        min(o.published) AS first_published,
        max(o.published) AS last_published,
        -- A bundle has a truth only when each of its documents has one.
        CASE WHEN count(o.truth_value) = count(*) THEN avg(o.truth_value) END AS truth_value,
        CASE WHEN count(*) = 1 THEN min(o.truth_label) END AS truth_label,
        array_remove(ARRAY[
            CASE WHEN bool_or(s.cleaned) THEN 'cleaned' END,
            CASE WHEN bool_or(s.neutralized) THEN 'neutralized' END,
            CASE WHEN bool_or(s.abstracted) THEN 'abstracted' END
        ], NULL) AS simulated_views
    FROM item_documents AS b
    JOIN documents AS o ON o.id = b.document_id
    LEFT JOIN (
        SELECT
            document_id,
            bool_or(view = 'cleaned') AS cleaned,
            bool_or(view = 'neutralized') AS neutralized,
            bool_or(view = 'abstracted') AS abstracted
        FROM views
        WHERE simulated
        GROUP BY document_id
    ) AS s ON s.document_id = o.id
    GROUP BY b.item_id
) AS d ON d.item_id = i.id;

COMMENT ON VIEW analysis.items IS 'One row per item: one document or a bundle judged together, with its evidence.';
COMMENT ON COLUMN analysis.items.item_id IS 'Identifier of the item in this database.';
COMMENT ON COLUMN analysis.items.item_key IS '16-digit identity of the item; the same in every database.';
COMMENT ON COLUMN analysis.items.window_id IS 'Window of its documents.';
COMMENT ON COLUMN analysis.items.window_name IS 'Name of the window; its key where it has none.';
COMMENT ON COLUMN analysis.items.country IS 'Country of the window.';
COMMENT ON COLUMN analysis.items.bundle_size IS 'Number of documents, 1 to 20.';
COMMENT ON COLUMN analysis.items.titles IS 'Titles of its documents, in the order shown.';
COMMENT ON COLUMN analysis.items.urls IS 'Addresses of its documents, in the order shown.';
COMMENT ON COLUMN analysis.items.tiers IS 'Source tiers of its documents, in the order shown.';
COMMENT ON COLUMN analysis.items.tier_weight IS 'Mean weight of the tiers, 0 to 1.';
COMMENT ON COLUMN analysis.items.first_published IS 'Earliest date of publication among its documents; NULL when unknown.';
COMMENT ON COLUMN analysis.items.last_published IS 'Latest date of publication among its documents; NULL when unknown.';
COMMENT ON COLUMN analysis.items.truth_value IS 'Mean known index of its documents, 0 to 1; NULL unless each has one.';
COMMENT ON COLUMN analysis.items.truth_label IS 'Known stage label; NULL for bundles and where none is known.';
COMMENT ON COLUMN analysis.items.simulated_views IS 'Which views of its documents the simulator made.';
