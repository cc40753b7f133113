-- Values that rest encrypted, as they are: those that are neither empty nor under the key in use.

-- name: sandbox_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, env_json AS text FROM sandboxes
WHERE id > :id AND env_json <> '{}' AND env_json NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- What was changed meanwhile is under the key in use already.
-- name: sandbox_secret_swap
-- takes: secret_swap
UPDATE sandboxes SET env_json = :text WHERE id = :id AND env_json = :old;

-- name: template_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, env_json AS text FROM templates
WHERE id > :id AND env_json <> '{}' AND env_json NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: template_secret_swap
-- takes: secret_swap
UPDATE templates SET env_json = :text WHERE id = :id AND env_json = :old;

-- name: config_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, env_json AS text FROM sandbox_configs
WHERE id > :id AND env_json <> '{}' AND env_json NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: config_secret_swap
-- takes: secret_swap
UPDATE sandbox_configs SET env_json = :text WHERE id = :id AND env_json = :old;

-- name: webhook_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, secret AS text FROM webhooks
WHERE id > :id AND secret <> '' AND secret NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: webhook_secret_swap
-- takes: secret_swap
UPDATE webhooks SET secret = :text WHERE id = :id AND secret = :old;

-- name: channel_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, token AS text FROM channels
WHERE id > :id AND token <> '' AND token NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: channel_secret_swap
-- takes: secret_swap
UPDATE channels SET token = :text WHERE id = :id AND token = :old;

-- name: server_key_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, secret AS text FROM server_keys
WHERE id > :id AND secret NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: server_key_secret_swap
-- takes: secret_swap
UPDATE server_keys SET secret = :text WHERE id = :id AND secret = :old;

-- name: service_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, env_json AS text FROM services
WHERE id > :id AND env_json <> '' AND env_json <> '{}' AND env_json NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: service_secret_swap
-- takes: secret_swap
UPDATE services SET env_json = :text WHERE id = :id AND env_json = :old;
-- name: vault_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, value AS text FROM vault
WHERE id > :id AND value <> '' AND value NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: vault_secret_swap
-- takes: secret_swap
UPDATE vault SET value = :text WHERE id = :id AND value = :old;

-- name: lease_secrets
-- takes: secret_page
-- gives: secret_row
SELECT project_id || '/' || key AS id, env_json AS text FROM leases
WHERE project_id || '/' || key > :id AND env_json <> '' AND env_json <> '{}'
	AND env_json NOT LIKE :pattern
ORDER BY project_id || '/' || key
LIMIT :limit;

-- name: lease_secret_swap
-- takes: secret_swap
UPDATE leases SET env_json = :text WHERE project_id || '/' || key = :id AND env_json = :old;

-- name: provider_secrets
-- takes: secret_page
-- gives: secret_row
SELECT name AS id, secrets_json AS text FROM providers
WHERE name > :id AND secrets_json <> '{}' AND secrets_json NOT LIKE :pattern
ORDER BY name
LIMIT :limit;

-- name: provider_secret_swap
-- takes: secret_swap
UPDATE providers SET secrets_json = :text WHERE name = :id AND secrets_json = :old;

-- name: credential_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, fields_json AS text FROM credentials
WHERE id > :id AND fields_json <> '{}' AND fields_json NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: credential_secret_swap
-- takes: secret_swap
UPDATE credentials SET fields_json = :text WHERE id = :id AND fields_json = :old;

-- name: connect_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, secret_json AS text FROM connects
WHERE id > :id AND secret_json <> '{}' AND secret_json <> '' AND secret_json NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: connect_secret_swap
-- takes: secret_swap
UPDATE connects SET secret_json = :text WHERE id = :id AND secret_json = :old;

-- name: authority_secrets
-- takes: secret_page
-- gives: secret_row
SELECT id, key_pem AS text FROM authorities
WHERE id > :id AND key_pem <> '' AND key_pem NOT LIKE :pattern
ORDER BY id
LIMIT :limit;

-- name: authority_secret_swap
-- takes: secret_swap
UPDATE authorities SET key_pem = :text WHERE id = :id AND key_pem = :old;
