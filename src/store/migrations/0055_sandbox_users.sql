-- The user that made the sandbox, by a key or by a session; '' = none.
ALTER TABLE sandboxes ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
UPDATE sandboxes SET user_id = COALESCE(
	(SELECT keys.user_id FROM keys WHERE keys.id = sandboxes.key_id), '')
WHERE key_id <> '';
