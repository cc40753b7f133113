-- The name of the credential that a request got, or was refused for; '' = none.
ALTER TABLE network_decisions ADD COLUMN credential TEXT NOT NULL DEFAULT '';
