-- The snapshot that a sandbox was made of, which a reset goes back to; '' = its template.
ALTER TABLE snapshot_bases ADD COLUMN origin_id TEXT NOT NULL DEFAULT '';
UPDATE snapshot_bases SET origin_id = snapshot_id
WHERE EXISTS (SELECT 1 FROM snapshots
	WHERE snapshots.id = snapshot_bases.snapshot_id
		AND snapshots.sandbox_id <> snapshot_bases.sandbox_id);
