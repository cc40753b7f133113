-- Variables of terminal windows that get fields of a credential: "PGPASSWORD=password", separated by
-- blanks; '' = none.
ALTER TABLE credentials ADD COLUMN environment TEXT NOT NULL DEFAULT '';

-- Terminal windows that were opened with such variables, written before the value leaves the server. A
-- window has a row for each consent by which it got a value.
CREATE TABLE secret_windows (
	sandbox_id TEXT NOT NULL,
	name TEXT NOT NULL,
	consent_id TEXT NOT NULL,
	conversation_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (sandbox_id, name, consent_id)
) STRICT;
