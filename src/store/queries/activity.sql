-- fragment: activity
sequence, at, written_at, project_id, sandbox_id, kind, operation, arguments, user_id, key_id,
	conversation, outcome, exit_code, error, duration_ms, output_bytes, head, tail, encoding,
	artifacts_json

-- fragment: activity_filters
sequence > :after AND sequence < :before
	AND (:kind IS NULL OR kind = :kind)
	AND (:user_id IS NULL OR user_id = :user_id)
	AND (:key_id IS NULL OR key_id = :key_id)
	AND (:conversation IS NULL OR conversation = :conversation)

-- A row of a background job knows only the key of its call: the user is the key's member.
-- name: activity_insert
-- takes: activity_record
INSERT INTO activity (at, written_at, project_id, sandbox_id, kind, operation, arguments, user_id,
	key_id, conversation, outcome, exit_code, error, duration_ms, output_bytes, head, tail, encoding,
	artifacts_json)
VALUES (:at, :written_at, :project_id, :sandbox_id, :kind, :operation, :arguments,
	CASE WHEN :user_id <> '' THEN :user_id
		ELSE COALESCE((SELECT k.user_id FROM keys k WHERE k.id = :key_id), '') END,
	:key_id, :conversation, :outcome, :exit_code, :error, :duration_ms, :output_bytes, :head,
	:tail, :encoding, :artifacts_json);

-- name: activity_list
-- takes: activity_search
-- gives: activity_record
SELECT {activity} FROM activity WHERE {activity_filters} ORDER BY sequence LIMIT :limit;

-- name: activity_list_of_project
-- takes: activity_search
-- gives: activity_record
SELECT {activity} FROM activity WHERE project_id = :project_id AND {activity_filters}
ORDER BY sequence LIMIT :limit;

-- name: activity_list_of_sandbox
-- takes: activity_search
-- gives: activity_record
SELECT {activity} FROM activity WHERE sandbox_id = :sandbox_id
	AND (:project_id IS NULL OR project_id = :project_id) AND {activity_filters}
ORDER BY sequence LIMIT :limit;

-- name: activity_newest
-- takes: activity_search
-- gives: activity_record
SELECT {activity} FROM activity WHERE {activity_filters} ORDER BY sequence DESC LIMIT :limit;

-- name: activity_newest_of_project
-- takes: activity_search
-- gives: activity_record
SELECT {activity} FROM activity WHERE project_id = :project_id AND {activity_filters}
ORDER BY sequence DESC LIMIT :limit;

-- name: activity_newest_of_sandbox
-- takes: activity_search
-- gives: activity_record
SELECT {activity} FROM activity WHERE sandbox_id = :sandbox_id
	AND (:project_id IS NULL OR project_id = :project_id) AND {activity_filters}
ORDER BY sequence DESC LIMIT :limit;

-- Each by itself: together, min and max would look at every row.
-- name: activity_bounds
-- gives: event_bounds
SELECT COALESCE((SELECT min(sequence) FROM activity), 0) AS oldest,
	COALESCE((SELECT max(sequence) FROM activity), 0) AS newest,
	COALESCE((SELECT written_at FROM activity ORDER BY sequence LIMIT 1), 0) AS oldest_at;

-- The row before the first recent one whose number does not follow another.
-- name: activity_gap
-- takes: record_lookup
-- gives: row_count
SELECT COALESCE(max(sequence), 0) AS count FROM activity WHERE sequence < (
	SELECT min(e.sequence) FROM activity e
	WHERE e.sequence > (SELECT max(sequence) FROM activity) - 1000
		AND e.sequence > (SELECT min(sequence) FROM activity)
		AND e.written_at > :now
		AND NOT EXISTS (SELECT 1 FROM activity p WHERE p.sequence = e.sequence - 1));

-- name: activity_purge
-- takes: event_purge
DELETE FROM activity WHERE sequence < :end
	AND (sequence <= :upto OR written_at < :before);

-- name: activity_trim
-- takes: activity_trim
DELETE FROM activity WHERE sandbox_id = :sandbox_id AND sequence <= (
	SELECT sequence FROM activity WHERE sandbox_id = :sandbox_id
	ORDER BY sequence DESC LIMIT 1 OFFSET :count_max);
