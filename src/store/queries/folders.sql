-- name: folder_put
-- takes: folder_record
INSERT INTO data_folders (node, pairing, generation, instance, boot, place, seen_at)
VALUES (:node, :pairing, :generation, :instance, :boot, :place, :seen_at)
ON CONFLICT (node) DO UPDATE SET pairing = excluded.pairing, generation = excluded.generation,
	instance = excluded.instance, boot = excluded.boot, place = excluded.place,
	seen_at = excluded.seen_at;

-- name: folder_find
-- takes: lookup
-- gives: folder_record
SELECT node, pairing, generation, instance, boot, place, seen_at FROM data_folders
WHERE node = :id;

-- Of its own process only: another one that has taken its place is not overwritten.
-- name: folder_beat
-- takes: folder_record
UPDATE data_folders SET generation = :generation, seen_at = :seen_at
WHERE node = :node AND instance = :instance;
