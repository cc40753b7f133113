-- How many sandboxes of a template are prepared before anybody asks for one; 0 = no pool.
ALTER TABLE templates ADD COLUMN pool_min INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN pool_target INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN pool_max INTEGER NOT NULL DEFAULT 0;
