-- Servers that others pass requests on to. seen_at: when it last said that it lives; 0: it has
-- ended.
CREATE TABLE peers (
	node TEXT NOT NULL PRIMARY KEY,
	url TEXT NOT NULL,
	seen_at INTEGER NOT NULL
) STRICT;
