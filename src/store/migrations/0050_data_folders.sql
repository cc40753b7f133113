-- The data folder that a server (node) keeps its sandboxes in: `pairing` is in the folder, too, and
-- `generation` grows in both. instance, boot: of the process that has it open; seen_at: when it last
-- said so, 0: it has ended. place: of the folder, for people.
CREATE TABLE data_folders (
	node TEXT NOT NULL PRIMARY KEY,
	pairing TEXT NOT NULL,
	generation INTEGER NOT NULL,
	instance TEXT NOT NULL,
	boot TEXT NOT NULL,
	place TEXT NOT NULL,
	seen_at INTEGER NOT NULL
) STRICT;
