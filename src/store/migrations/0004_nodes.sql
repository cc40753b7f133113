-- Whose it is, of the servers that share a database: the id in DATA/node.id. A template's is the
-- server that builds it. '' = from a time when there was one server: who starts next takes them.
ALTER TABLE sandboxes ADD COLUMN node TEXT NOT NULL DEFAULT '';
ALTER TABLE templates ADD COLUMN node TEXT NOT NULL DEFAULT '';
