-- People who sign in, their sessions in browsers, one-time links, and what limits guesses.
CREATE TABLE users (
	id TEXT NOT NULL PRIMARY KEY,
	email TEXT NOT NULL,
	name TEXT NOT NULL,
	password TEXT NOT NULL,
	is_admin INTEGER NOT NULL,
	issuer TEXT NOT NULL,
	subject TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	disabled_at INTEGER NOT NULL,
	last_used_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX users_by_email ON users (email);
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE subject <> '';

-- The owner is a user or a key.
CREATE TABLE logins (
	id TEXT NOT NULL PRIMARY KEY,
	hash BLOB NOT NULL CHECK (length(hash) = 32),
	kind TEXT NOT NULL,
	owner_id TEXT NOT NULL,
	project_id TEXT NOT NULL,
	address TEXT NOT NULL,
	user_agent TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	last_used_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX logins_by_hash ON logins (hash);
CREATE INDEX logins_by_owner ON logins (owner_id, created_at);

-- '' = no project: the link of the first user, or of a user without a project.
CREATE TABLE invitations (
	id TEXT NOT NULL PRIMARY KEY,
	hash BLOB NOT NULL CHECK (length(hash) = 32),
	kind TEXT NOT NULL,
	project_id TEXT NOT NULL,
	email TEXT NOT NULL,
	role TEXT NOT NULL,
	is_admin INTEGER NOT NULL,
	invited_by TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX invitations_by_hash ON invitations (hash);
CREATE INDEX invitations_by_project ON invitations (project_id, created_at);

-- Failed attempts of an address or of an account since began_at.
CREATE TABLE sign_in_attempts (
	id TEXT NOT NULL PRIMARY KEY,
	attempts INTEGER NOT NULL,
	began_at INTEGER NOT NULL
) STRICT;
