-- Without what it wrote, which is by far the most of it.
-- fragment: job_head
j.id, j.project_id, j.sandbox_id, j.key_id, j.conversation, j.channel, j.origin_json, j.command, j.process,
	j.boot_id, j.state, j.is_stopping, j.exit_code, j.reason, j.cause, j.stdout_bytes, j.stderr_bytes,
	j.token_hash, j.token_expires_at, j.created_at, j.ended_at, j.delivery, j.delivery_tries,
	j.delivery_status, j.delivery_error, j.delivery_at, j.keep_root, j.keep_folder, j.keep_user,
	j.run, j.told, j.started_at,
	COALESCE(s.actual, 'deleted') AS actual, COALESCE(s.node, '') AS node,
	COALESCE(s.reason, '') AS sandbox_reason

-- fragment: job
{job_head}, j.stdout_json, j.stderr_json

-- name: job_insert
-- takes: job_record
INSERT INTO jobs (id, project_id, sandbox_id, key_id, conversation, channel, origin_json, command,
	process, boot_id, state, is_stopping, exit_code, reason, cause, stdout_json, stderr_json, stdout_bytes,
	stderr_bytes, token_hash, token_expires_at, created_at, ended_at, delivery, delivery_tries,
	delivery_status, delivery_error, delivery_at, keep_root, keep_folder, keep_user, run, told,
	started_at)
VALUES (:id, :project_id, :sandbox_id, :key_id, :conversation, :channel, :origin_json, :command,
	:process, :boot_id, :state, :is_stopping, :exit_code, :reason, :cause, :stdout_json,
	:stderr_json, :stdout_bytes, :stderr_bytes, :token_hash, :token_expires_at, :created_at, :ended_at, :delivery,
	:delivery_tries, :delivery_status, :delivery_error, :delivery_at, :keep_root, :keep_folder,
	:keep_user, :run, :told, :started_at);

-- name: job_count_running
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM jobs WHERE sandbox_id = :id AND state = 'running';

-- name: job_find
-- takes: job_ref
-- gives: job_record
SELECT {job} FROM jobs j LEFT JOIN sandboxes s ON s.id = j.sandbox_id
WHERE j.id = :id AND (:project_id IS NULL OR j.project_id = :project_id)
	AND (:conversation IS NULL OR j.conversation = :conversation);

-- name: job_look
-- takes: job_ref
-- gives: job_record
SELECT {job_head}, '' AS stdout_json, '' AS stderr_json
FROM jobs j LEFT JOIN sandboxes s ON s.id = j.sandbox_id
WHERE j.id = :id;

-- name: job_list
-- takes: job_page
-- gives: job_record
SELECT {job} FROM jobs j LEFT JOIN sandboxes s ON s.id = j.sandbox_id
WHERE j.project_id = :project_id AND j.conversation = :conversation AND j.created_at < :before
	AND (:sandbox_id IS NULL OR j.sandbox_id = :sandbox_id)
	AND (:state IS NULL OR j.state = :state)
ORDER BY j.created_at DESC, j.id LIMIT :limit;

-- name: job_running
-- takes: record_lookup
-- gives: job_record
SELECT j.id, j.project_id, j.sandbox_id, j.told, COALESCE(s.actual, 'deleted') AS actual,
	COALESCE(s.node, '') AS node
FROM jobs j LEFT JOIN sandboxes s ON s.id = j.sandbox_id
WHERE j.state = 'running' AND j.id > :id
ORDER BY j.id LIMIT 1000;

-- name: job_started
-- takes: job_start
UPDATE jobs SET process = :process, boot_id = :boot_id, started_at = :started_at
WHERE id = :id AND (process = 0 OR (process = :process AND boot_id = :boot_id));

-- name: job_stopping
-- takes: record_lookup
UPDATE jobs SET is_stopping = 1 WHERE id = :id AND state = 'running' AND told = 'running';

-- name: job_told
-- takes: job_record
UPDATE jobs
SET told = :told, exit_code = :exit_code, reason = :reason, cause = :cause, stdout_json = :stdout_json,
	stderr_json = :stderr_json, stdout_bytes = :stdout_bytes, stderr_bytes = :stderr_bytes,
	ended_at = :ended_at
WHERE id = :id AND state = 'running' AND told = 'running';

-- name: job_settle
-- takes: job_record
UPDATE jobs
SET state = :state, exit_code = :exit_code, reason = :reason, cause = :cause, stdout_json = :stdout_json,
	stderr_json = :stderr_json, stdout_bytes = :stdout_bytes, stderr_bytes = :stderr_bytes,
	ended_at = :ended_at, delivery = :delivery, delivery_at = :delivery_at
WHERE id = :id AND state = 'running';

-- name: job_remove
-- takes: record_lookup
DELETE FROM jobs WHERE id = :id AND state = 'running' AND process = 0;

-- name: job_purge
-- takes: record_lookup
DELETE FROM jobs WHERE id IN (
	SELECT id FROM jobs WHERE state <> 'running' AND ended_at < :now LIMIT 5000);

-- name: job_to_deliver
-- takes: record_lookup
-- gives: job_record
SELECT {job} FROM jobs j LEFT JOIN sandboxes s ON s.id = j.sandbox_id
WHERE j.id IN (SELECT due.id FROM (
	SELECT d.id, d.delivery_at,
		row_number() OVER (PARTITION BY d.project_id ORDER BY d.delivery_at, d.id) AS place
	FROM jobs d WHERE d.delivery = 'waiting' AND d.delivery_at <= :now) AS due
	ORDER BY due.place, due.delivery_at LIMIT 16)
ORDER BY j.delivery_at;

-- name: job_next_delivery
-- gives: row_count
SELECT COALESCE(min(delivery_at), 0) AS count FROM jobs WHERE delivery IN ('waiting', 'sending');

-- name: job_delivery_claim
-- takes: job_delivery_change
UPDATE jobs SET delivery = 'sending', delivery_tries = delivery_tries + 1, delivery_at = :at
WHERE id = :id AND delivery = 'waiting' AND delivery_tries = :tries;

-- name: job_delivery_end
-- takes: job_delivery_change
UPDATE jobs SET delivery = :delivery, delivery_status = :status, delivery_error = :error,
	delivery_at = :at
WHERE id = :id AND delivery = 'sending' AND delivery_tries = :tries;

-- Whoever has begun is gone.
-- name: job_deliveries_lost
-- takes: job_delivery_change
UPDATE jobs SET delivery = 'dead', delivery_error = :error
WHERE delivery = 'sending' AND delivery_at < :at;

-- name: job_deliver_again
-- takes: job_ref
UPDATE jobs SET delivery = 'waiting', delivery_tries = 0, delivery_at = 0
WHERE id = :id AND project_id = :project_id AND delivery IN ('delivered', 'dead');

-- name: job_deliveries
-- takes: job_delivery_page
-- gives: job_record
SELECT {job} FROM jobs j LEFT JOIN sandboxes s ON s.id = j.sandbox_id
WHERE j.project_id = :project_id AND j.delivery <> 'none' AND j.created_at < :before
	AND (:delivery IS NULL OR j.delivery = :delivery)
ORDER BY j.created_at DESC, j.id LIMIT :limit;
