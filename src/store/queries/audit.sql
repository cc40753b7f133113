-- fragment: audit
sequence, at, id, node, version, project_id, user_id, key_id, via, address, user_agent, action,
	method, path, target_kind, target_id, conversation, result, status, before_json, after_json,
	request_id, digest, hash

-- fragment: audit_filters
sequence > :after AND sequence < :before
	AND (:project_id IS NULL OR project_id = :project_id)
	AND (:organization_id IS NULL OR project_id IN (
		SELECT p.id FROM projects p WHERE p.organization_id = :organization_id))
	AND (:user_id IS NULL OR user_id = :user_id)
	AND (:key_id IS NULL OR key_id = :key_id)
	AND (:target_id IS NULL OR target_id = :target_id)
	AND (:request_id IS NULL OR request_id = :request_id)
	AND (:result IS NULL OR result = :result)
	AND (:action IS NULL OR action = :action)
	AND (:prefix IS NULL OR instr(action, :prefix) = 1)
	AND at >= :since AND at < :until

-- name: audit_insert
-- takes: audit_record
INSERT INTO audit ({audit}) VALUES ({:audit});

-- name: audit_find_event
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM audit WHERE id = :id;

-- name: audit_list
-- takes: audit_search
-- gives: audit_record
SELECT {audit} FROM audit WHERE {audit_filters} ORDER BY sequence LIMIT :limit;

-- name: audit_newest
-- takes: audit_search
-- gives: audit_record
SELECT {audit} FROM audit WHERE {audit_filters} ORDER BY sequence DESC LIMIT :limit;

-- Whoever is first has made it.
-- name: audit_head_insert
-- takes: audit_head
INSERT INTO audit_head (id, chain, sequence, hash, base)
VALUES ('head', :chain, 0, :hash, 0) ON CONFLICT DO NOTHING;

-- A transaction that adds rows begins with it: another one waits here, and then runs again.
-- name: audit_head_lock
UPDATE audit_head SET base = base WHERE id = 'head';

-- name: audit_head_find
-- gives: audit_head
SELECT chain, sequence, hash, base FROM audit_head WHERE id = 'head';

-- name: audit_head_move
-- takes: audit_move
UPDATE audit_head SET sequence = :sequence, hash = :hash
WHERE id = 'head' AND sequence = :expected;

-- name: audit_base_move
-- takes: audit_purge
UPDATE audit_head SET base = :base WHERE id = 'head' AND base < :base;

-- name: audit_checkpoint_insert
-- takes: audit_checkpoint_record
INSERT INTO audit_checkpoints (sequence, at, hash, public_key, signature)
VALUES (:sequence, :at, :hash, :public_key, :signature) ON CONFLICT DO NOTHING;

-- name: audit_checkpoint_list
-- takes: audit_search
-- gives: audit_checkpoint_record
SELECT sequence, at, hash, public_key, signature FROM audit_checkpoints
WHERE sequence > :after AND sequence < :before ORDER BY sequence LIMIT :limit;

-- The newest before a number.
-- name: audit_checkpoint_before
-- takes: audit_search
-- gives: audit_checkpoint_record
SELECT sequence, at, hash, public_key, signature FROM audit_checkpoints
WHERE sequence < :before ORDER BY sequence DESC LIMIT 1;

-- The newest whose row is old enough to be dropped.
-- name: audit_checkpoint_old
-- takes: audit_purge
-- gives: audit_checkpoint_record
SELECT c.sequence, c.at, c.hash, c.public_key, c.signature
FROM audit_checkpoints c JOIN audit a ON a.sequence = c.sequence
WHERE a.at < :before OR c.sequence <= :upto
ORDER BY c.sequence DESC LIMIT 1;

-- name: audit_purge_rows
-- takes: audit_purge
DELETE FROM audit WHERE sequence <= :base AND sequence <= (
	SELECT min(sequence) FROM audit) + :slice;

-- name: audit_purge_checkpoints
-- takes: audit_purge
DELETE FROM audit_checkpoints WHERE sequence < :base;

-- name: audit_count_old
-- takes: audit_purge
-- gives: row_count
SELECT count(*) AS count FROM (
	SELECT sequence FROM audit WHERE sequence <= :base LIMIT 1) AS old;
