-- What the server signs with, made once and the same for all servers on the database.
CREATE TABLE server_keys (
	id TEXT NOT NULL PRIMARY KEY,
	secret TEXT NOT NULL
) STRICT;
-- Bits of enum sandbox_trait, and what a surface was told of its network: {"allowOut":[…]}.
ALTER TABLE sandboxes ADD COLUMN traits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN network_json TEXT NOT NULL DEFAULT '';
