-- Documents that screening dropped from a window.
CREATE VIEW analysis.dropped AS
SELECT
    d.window_id,
    coalesce(nullif(w.name, ''), w.key) AS window_name,
    d.title,
    d.url,
    d.reason,
    d.detail
FROM dropped_documents AS d
JOIN windows AS w ON w.id = d.window_id;

COMMENT ON VIEW analysis.dropped IS 'One row per document of a source that the window dropped.';
COMMENT ON COLUMN analysis.dropped.window_id IS 'The window that dropped it.';
COMMENT ON COLUMN analysis.dropped.window_name IS 'Name of that window; its key where it has none.';
COMMENT ON COLUMN analysis.dropped.title IS 'Title as found.';
COMMENT ON COLUMN analysis.dropped.url IS 'Address as found.';
COMMENT ON COLUMN analysis.dropped.reason IS 'Kind of reason, such as outside the dates or a duplicate.';
COMMENT ON COLUMN analysis.dropped.detail IS 'The reason in words.';
