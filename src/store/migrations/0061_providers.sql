-- Providers that were added at run time. `settings` has the form of the option `providers`. A
-- removed one keeps its row, so that every server learns of the removal from the row itself.
CREATE TABLE providers (
	name TEXT NOT NULL PRIMARY KEY,
	kind TEXT NOT NULL,
	settings TEXT NOT NULL,
	secrets_json TEXT NOT NULL,
	version INTEGER NOT NULL,
	draining INTEGER NOT NULL,
	removed_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;

-- The routing rules that replace those of the configuration: one row, 'rules'.
CREATE TABLE routing (
	id TEXT NOT NULL PRIMARY KEY,
	rules TEXT NOT NULL,
	is_set INTEGER NOT NULL,
	version INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;

-- Why the sandbox is at its provider.
ALTER TABLE sandboxes ADD COLUMN placed TEXT NOT NULL DEFAULT '';
-- The defaults of a template's and a project's sandboxes; '' = none. Until now the isolation of a
-- template was that of the server's provider, which is the least that its sandboxes get anyway.
ALTER TABLE templates ADD COLUMN provider TEXT NOT NULL DEFAULT '';
UPDATE templates SET isolation = '';
ALTER TABLE projects ADD COLUMN provider TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN isolation TEXT NOT NULL DEFAULT '';
-- The provider that the use was of; '' = of stored files, or not known.
ALTER TABLE usage_log ADD COLUMN provider TEXT NOT NULL DEFAULT '';
