-- Organisations above projects. Their owners and admins administer every project of theirs.
CREATE TABLE organizations (
	id TEXT NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX organizations_by_name ON organizations (name);
INSERT INTO organizations (id, name, created_at, updated_at) VALUES ('default', 'default', 0, 0);

CREATE TABLE organization_members (
	organization_id TEXT NOT NULL REFERENCES organizations (id),
	user_id TEXT NOT NULL,
	role TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (organization_id, user_id)
) STRICT;

ALTER TABLE projects ADD COLUMN organization_id TEXT NOT NULL DEFAULT 'default';
CREATE INDEX projects_by_organization ON projects (organization_id);
