-- secret: secret of webhooks by id
-- fragment: webhook
id, project_id, url, secret, patterns, state_text, enabled, after, created_at, updated_at,
	(SELECT count(*) FROM deliveries WHERE webhook_id = webhooks.id AND state = 'waiting')
		AS waiting,
	(SELECT count(*) FROM deliveries WHERE webhook_id = webhooks.id AND state = 'dead') AS dead

-- fragment: delivery
id, webhook_id, sequence, kind, body, state, attempts, status, error, created_at, next_at, ended_at

-- name: webhook_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM webhooks WHERE project_id = :project_id;

-- name: webhook_insert
-- takes: webhook_record
INSERT INTO webhooks (id, project_id, url, secret, patterns, state_text, enabled, after, created_at,
	updated_at)
VALUES (:id, :project_id, :url, :secret, :patterns, :state_text, :enabled,
	COALESCE((SELECT max(sequence) FROM events), 0), :created_at, :updated_at);

-- name: webhook_find
-- takes: record_lookup
-- gives: webhook_record
SELECT {webhook} FROM webhooks WHERE id = :id AND project_id = :project_id;

-- name: webhook_list
-- takes: record_lookup
-- gives: webhook_record
SELECT {webhook} FROM webhooks WHERE (:project_id IS NULL OR project_id = :project_id)
ORDER BY created_at, id;

-- name: webhook_update
-- takes: webhook_record
UPDATE webhooks
SET url = :url, secret = :secret, patterns = :patterns, state_text = :state_text,
	updated_at = :updated_at, enabled = :enabled,
	after = CASE WHEN enabled = 0 AND :enabled <> 0
		THEN COALESCE((SELECT max(sequence) FROM events), 0) ELSE after END
WHERE id = :id AND project_id = :project_id;

-- name: webhook_disable
-- takes: webhook_record
UPDATE webhooks SET enabled = 0, state_text = :state_text, updated_at = :updated_at
WHERE id = :id AND project_id = :project_id;

-- name: webhook_remove
-- takes: record_lookup
DELETE FROM webhooks WHERE id = :id AND project_id = :project_id;

-- name: webhook_changed
UPDATE webhook_cursor SET generation = generation + 1;

-- name: webhook_cursor
-- gives: webhook_cursor
SELECT sequence, generation FROM webhook_cursor WHERE id = 1;

-- name: webhook_advance
-- takes: webhook_dispatch
UPDATE webhook_cursor SET sequence = :to
WHERE id = 1 AND sequence = :sequence AND generation = :generation;

-- name: delivery_insert
-- takes: delivery_record
INSERT INTO deliveries ({delivery}) VALUES ({:delivery});

-- name: delivery_next
-- takes: record_lookup
-- gives: delivery_record
SELECT {delivery} FROM deliveries
WHERE webhook_id = :id AND state = 'waiting' AND next_at <= :now
ORDER BY sequence LIMIT 1;

-- name: delivery_next_at
-- takes: record_lookup
-- gives: row_count
SELECT COALESCE(min(next_at), 0) AS count FROM deliveries
WHERE webhook_id = :id AND state = 'waiting';

-- name: delivery_claim
-- takes: delivery_claim
UPDATE deliveries SET attempts = attempts + 1, next_at = :until, node = :node
WHERE id = :id AND state = 'waiting' AND attempts = :attempts;

-- name: delivery_end
-- takes: delivery_end
UPDATE deliveries
SET state = :state, status = :status, error = :error, next_at = :next_at, node = '',
	ended_at = CASE WHEN :state = 'waiting' THEN 0 ELSE :now END
WHERE id = :id AND state = 'waiting' AND attempts = :attempts;

-- name: delivery_release
-- takes: delivery_claim
UPDATE deliveries SET next_at = :until, node = '' WHERE state = 'waiting' AND node = :node;

-- name: delivery_retry
-- takes: delivery_ref
UPDATE deliveries SET state = 'waiting', attempts = 0, next_at = :now, ended_at = 0, node = ''
WHERE id = :id AND webhook_id = :webhook_id;

-- name: delivery_retry_dead
-- takes: delivery_ref
UPDATE deliveries SET state = 'waiting', attempts = 0, next_at = :now, ended_at = 0, node = ''
WHERE id IN (
	SELECT id FROM deliveries WHERE webhook_id = :webhook_id AND state = 'dead'
	ORDER BY sequence LIMIT 1000);

-- name: delivery_list
-- takes: delivery_page
-- gives: delivery_record
SELECT {delivery} FROM deliveries
WHERE webhook_id = :webhook_id AND sequence < :before AND (:state IS NULL OR state = :state)
ORDER BY sequence DESC LIMIT :limit;

-- name: delivery_purge
-- takes: delivery_retention
DELETE FROM deliveries WHERE id IN (
	SELECT id FROM deliveries
	WHERE (state = 'delivered' AND ended_at < :delivered_before)
		OR (state = 'dead' AND ended_at < :dead_before)
	LIMIT 5000);
