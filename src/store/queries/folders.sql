-- name: folder_put
-- takes: folder_record
INSERT INTO data_folders (node, pairing, generation, instance, boot, place, seen_at)
VALUES (:node, :pairing, :generation, :instance, :boot, :place, :seen_at)
ON CONFLICT (node) DO UPDATE SET pairing = excluded.pairing, generation = excluded.generation,
	instance = excluded.instance, boot = excluded.boot, place = excluded.place,
	seen_at = excluded.seen_at;

-- name: folder_find
-- takes: record_lookup
-- gives: folder_record
SELECT node, pairing, generation, instance, boot, place, seen_at FROM data_folders
WHERE node = :id;

-- Of its own process only: another one that has taken its place is not overwritten.
-- name: folder_beat
-- takes: folder_record
UPDATE data_folders SET generation = :generation, seen_at = :seen_at
WHERE node = :node AND instance = :instance;

-- Times that are not set are 0, and stay so.
-- name: folder_shift_sandboxes
-- takes: record_lookup
UPDATE sandboxes SET version = version + 1,
	created_at = CASE WHEN created_at <= 0 THEN created_at WHEN created_at + :now < 1 THEN 1 ELSE created_at + :now END,
	started_at = CASE WHEN started_at <= 0 THEN started_at WHEN started_at + :now < 1 THEN 1 ELSE started_at + :now END,
	stopped_at = CASE WHEN stopped_at <= 0 THEN stopped_at WHEN stopped_at + :now < 1 THEN 1 ELSE stopped_at + :now END,
	last_activity_at = CASE WHEN last_activity_at <= 0 THEN last_activity_at WHEN last_activity_at + :now < 1 THEN 1 ELSE last_activity_at + :now END,
	timeout_at = CASE WHEN timeout_at <= 0 THEN timeout_at WHEN timeout_at + :now < 1 THEN 1 ELSE timeout_at + :now END,
	awake_until = CASE WHEN awake_until <= 0 THEN awake_until WHEN awake_until + :now < 1 THEN 1 ELSE awake_until + :now END,
	active_changed_at = CASE WHEN active_changed_at <= 0 THEN active_changed_at WHEN active_changed_at + :now < 1 THEN 1 ELSE active_changed_at + :now END,
	stored_at = CASE WHEN stored_at <= 0 THEN stored_at WHEN stored_at + :now < 1 THEN 1 ELSE stored_at + :now END
WHERE node = :id AND actual <> 'deleted';

-- name: folder_shift_leases
-- takes: record_lookup
UPDATE leases SET lock_version = lock_version + 1,
	creating_since = CASE WHEN creating_since <= 0 THEN creating_since WHEN creating_since + :now < 1 THEN 1 ELSE creating_since + :now END,
	last_activity_at = CASE WHEN last_activity_at <= 0 THEN last_activity_at WHEN last_activity_at + :now < 1 THEN 1 ELSE last_activity_at + :now END,
	active_since = CASE WHEN active_since <= 0 THEN active_since WHEN active_since + :now < 1 THEN 1 ELSE active_since + :now END
WHERE sandbox_id IN (SELECT id FROM sandboxes WHERE node = :id AND actual <> 'deleted');
