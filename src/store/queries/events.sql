-- fragment: event
sequence, at, project_id, sandbox_id, kind, reason, text, detail

-- fragment: event_filters
sequence > :after AND sequence < :before
	AND (:project_id IS NULL OR project_id = :project_id
		OR (project_id = '' AND substr(kind, 1, 9) IN ('provider.', 'template.')))
	AND (:kind IS NULL OR kind = :kind)
	AND (:prefix IS NULL OR substr(kind, 1, length(:prefix)) = :prefix)

-- name: event_insert
-- takes: event_record
INSERT INTO events (at, project_id, sandbox_id, kind, reason, text, detail)
VALUES (:at, :project_id, :sandbox_id, :kind, :reason, :text, :detail);

-- name: event_list
-- takes: event_search
-- gives: event_record
SELECT {event} FROM events WHERE {event_filters} ORDER BY sequence LIMIT :limit;

-- name: event_list_of_sandbox
-- takes: event_search
-- gives: event_record
SELECT {event} FROM events WHERE sandbox_id = :sandbox_id AND {event_filters}
ORDER BY sequence LIMIT :limit;

-- name: event_newest
-- takes: event_search
-- gives: event_record
SELECT {event} FROM events WHERE {event_filters} ORDER BY sequence DESC LIMIT :limit;

-- name: event_newest_of_sandbox
-- takes: event_search
-- gives: event_record
SELECT {event} FROM events WHERE sandbox_id = :sandbox_id AND {event_filters}
ORDER BY sequence DESC LIMIT :limit;

-- Each by itself: together, min and max would look at every row.
-- name: event_bounds
-- gives: event_bounds
SELECT COALESCE((SELECT min(sequence) FROM events), 0) AS oldest,
	COALESCE((SELECT max(sequence) FROM events), 0) AS newest,
	COALESCE((SELECT at FROM events ORDER BY sequence LIMIT 1), 0) AS oldest_at;

-- The event before the first recent one whose number does not follow another.
-- name: event_gap
-- takes: record_lookup
-- gives: row_count
SELECT COALESCE(max(sequence), 0) AS count FROM events WHERE sequence < (
	SELECT min(e.sequence) FROM events e
	WHERE e.sequence > (SELECT max(sequence) FROM events) - 1000
		AND e.sequence > (SELECT min(sequence) FROM events)
		AND e.at > :now
		AND NOT EXISTS (SELECT 1 FROM events p WHERE p.sequence = e.sequence - 1));

-- name: event_purge
-- takes: event_purge
DELETE FROM events WHERE sequence < :end AND (sequence <= :upto OR at < :before);
