-- Touches a table, so that the file is really read.
-- name: store_ping
-- gives: tally
SELECT count(*) AS count FROM projects WHERE id = '';
