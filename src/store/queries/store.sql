-- Touches a table, so that the file is really read.
-- name: store_ping
-- gives: row_count
SELECT count(*) AS count FROM projects WHERE id = '';
