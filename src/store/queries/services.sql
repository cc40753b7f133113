-- secret: env_json of services by id
-- fragment: service
id, sandbox_id, name, command, args_json, cwd, run_as, env_json, restart, failures_max, delay_ms,
stop_ms, keeps_awake, wish, generation, is_told, created_at, updated_at

-- name: service_insert
-- takes: service_record
INSERT INTO services ({service}) VALUES ({:service});

-- name: service_update
-- takes: service_record
UPDATE services
SET command = :command, args_json = :args_json, cwd = :cwd, run_as = :run_as, env_json = :env_json,
	restart = :restart, failures_max = :failures_max, delay_ms = :delay_ms, stop_ms = :stop_ms,
	keeps_awake = :keeps_awake, wish = :wish, generation = :generation, is_told = 0,
	updated_at = :updated_at
WHERE id = :id;

-- name: service_count
-- takes: service_ref
-- gives: row_count
SELECT count(*) AS count FROM services WHERE sandbox_id = :sandbox_id;

-- name: service_find
-- takes: service_ref
-- gives: service_record
SELECT {service} FROM services WHERE sandbox_id = :sandbox_id AND name = :name;

-- name: service_list
-- takes: service_ref
-- gives: service_record
SELECT {service} FROM services WHERE sandbox_id = :sandbox_id ORDER BY name;

-- name: service_change
-- takes: service_change
UPDATE services
SET wish = :wish, generation = generation + 1, is_told = 0, updated_at = :now
WHERE sandbox_id = :sandbox_id AND name = :name AND wish <> 'removed';

-- name: service_told
-- takes: service_record
UPDATE services SET is_told = 1 WHERE id = :id AND generation = :generation;

-- name: service_remove
-- takes: service_record
DELETE FROM services WHERE id = :id AND generation = :generation;

-- name: services_clear
-- takes: service_ref
DELETE FROM services WHERE sandbox_id = :sandbox_id;

-- name: services_to_tell
-- takes: record_lookup
-- gives: service_record
SELECT {service} FROM services
WHERE is_told = 0 AND sandbox_id IN (
	SELECT id FROM sandboxes WHERE node = :id AND actual = 'started')
ORDER BY sandbox_id, name
LIMIT 100;
