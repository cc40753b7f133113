-- fragment: artifact
id, project_id, key_id, sandbox_id, sandbox_name, run, node, path, media_type, sha256, secret, state,
process, job, size_bytes, created_at, expires_at, metered_at, unbilled_nano

-- name: artifact_insert
-- takes: artifact_record
INSERT INTO artifacts ({artifact}) VALUES ({:artifact});

-- name: artifact_sum
-- takes: record_lookup
-- gives: artifact_sum
SELECT count(*) AS count, CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT) AS size_bytes
FROM artifacts WHERE project_id = :project_id;

-- name: artifact_finish
-- takes: artifact_record
UPDATE artifacts
SET state = 'ready', size_bytes = :size_bytes, sha256 = :sha256, media_type = :media_type,
	metered_at = :metered_at
WHERE id = :id AND state = 'making';

-- name: artifact_find
-- takes: record_lookup
-- gives: artifact_record
SELECT {artifact} FROM artifacts
WHERE id = :id AND state = 'ready' AND (:project_id IS NULL OR project_id = :project_id);

-- name: artifact_find_any
-- takes: record_lookup
-- gives: artifact_record
SELECT {artifact} FROM artifacts WHERE id = :id;

-- name: artifact_list
-- takes: artifact_page
-- gives: artifact_record
SELECT {artifact} FROM artifacts
WHERE project_id = :project_id AND state = 'ready'
	AND (:sandbox_id IS NULL OR sandbox_id = :sandbox_id)
	AND (:run IS NULL OR run = :run)
	AND (:job IS NULL OR job = :job)
	AND (created_at, id) < (:page_at, :page_id)
ORDER BY created_at DESC, id DESC
LIMIT :limit;

-- name: artifact_retire
-- takes: record_lookup
UPDATE artifacts SET state = 'removing' WHERE id = :id;

-- name: artifact_remove
-- takes: record_lookup
DELETE FROM artifacts WHERE id = :id;

-- name: artifact_due
-- takes: artifact_due
-- gives: artifact_record
SELECT {artifact} FROM artifacts
WHERE node = :node
	AND (state = 'removing' OR (state = 'ready' AND expires_at > 0 AND expires_at <= :now)
		OR (state = 'making' AND :is_boot <> 0))
ORDER BY id
LIMIT :limit;

-- name: artifact_unmetered
-- takes: artifact_due
-- gives: artifact_record
SELECT {artifact} FROM artifacts
WHERE node = :node AND state = 'ready' AND metered_at < :now
ORDER BY metered_at, id
LIMIT :limit;

-- name: artifact_mark
-- takes: artifact_mark
UPDATE artifacts SET metered_at = :metered_at, unbilled_nano = :unbilled_nano
WHERE id = :id AND state = 'ready' AND metered_at = :seen_metered_at;
