-- secret: secrets_json of providers by name
-- fragment: provider
name, kind, settings, secrets_json, version, draining, removed_at, created_at, updated_at

-- A removed provider gives its name to a new one.
-- name: provider_put
-- takes: provider_record
INSERT INTO providers ({provider})
VALUES (:name, :kind, :settings, COALESCE(NULLIF(:secrets_json, ''), '{}'), 1, 0, 0, :created_at, :updated_at)
ON CONFLICT (name) DO UPDATE
SET kind = excluded.kind, settings = excluded.settings, secrets_json = excluded.secrets_json,
	version = providers.version + 1, draining = 0, removed_at = 0,
	created_at = excluded.created_at, updated_at = excluded.updated_at
WHERE providers.removed_at > 0;

-- name: provider_update
-- takes: provider_record
UPDATE providers
SET settings = :settings, secrets_json = COALESCE(NULLIF(:secrets_json, ''), '{}'),
	version = version + 1, updated_at = :updated_at
WHERE name = :name AND version = :version AND removed_at = 0;

-- Another number after every change of a row, also by a server with a slow clock.
-- name: provider_stamp
-- gives: row_count
SELECT CAST(COALESCE(SUM(updated_at * 7 + version * 1000003 + draining * 31 +
	CASE WHEN removed_at > 0 THEN 97 ELSE 0 END), 0) AS BIGINT) AS count FROM providers;

-- name: provider_count
-- gives: row_count
SELECT count(*) AS count FROM providers WHERE removed_at = 0;

-- Removed ones, too.
-- name: provider_list
-- gives: provider_record
SELECT {provider} FROM providers ORDER BY created_at, name;

-- name: provider_find
-- takes: record_lookup
-- gives: provider_record
SELECT {provider} FROM providers WHERE name = :id AND removed_at = 0;

-- Until the transaction ends, creates and removals of this provider's sandboxes wait for each other.
-- name: provider_lock
-- takes: record_lookup
UPDATE providers SET name = name WHERE name = :id AND removed_at = 0 AND draining = 0;

-- name: provider_drain
-- takes: record_lookup
UPDATE providers SET draining = 1, updated_at = :now WHERE name = :id AND removed_at = 0;

-- What a failed sandbox left at its provider is removed by the sweep of this provider, too.
-- name: provider_sandboxes
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM sandboxes WHERE provider = :id AND actual <> 'deleted';

-- Without its credentials.
-- name: provider_remove
-- takes: record_lookup
UPDATE providers SET removed_at = :now, updated_at = :now, secrets_json = '{}'
WHERE name = :id AND removed_at = 0;

-- name: provider_use
-- takes: provider_window
-- gives: provider_use
SELECT provider AS name,
	CAST(SUM(CASE WHEN hour >= :day THEN active_ms ELSE 0 END) AS BIGINT) AS day_ms,
	CAST(SUM(active_ms) AS BIGINT) AS month_ms
FROM usage_log
WHERE hour >= :month AND provider <> ''
GROUP BY provider;

-- name: routing_find
-- gives: routing_record
SELECT rules, is_set, version, updated_at FROM routing WHERE id = 'rules';

-- name: routing_set
-- takes: routing_record
INSERT INTO routing (id, rules, is_set, version, updated_at)
VALUES ('rules', :rules, :is_set, 1, :updated_at)
ON CONFLICT (id) DO UPDATE
SET rules = excluded.rules, is_set = excluded.is_set, version = routing.version + 1,
	updated_at = excluded.updated_at;
