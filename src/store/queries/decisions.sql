-- fragment: decision
sequence, at, project_id, sandbox_id, verdict, code, protocol, host, address, port, rule,
	credential, count, bytes_in, bytes_out

-- fragment: decision_filters
sandbox_id = :sandbox_id AND sequence > :after AND sequence < :before
	AND (:project_id IS NULL OR project_id = :project_id)
	AND (:verdict IS NULL OR verdict = :verdict)
	AND (:code IS NULL OR code = :code)
	AND (:protocol IS NULL OR protocol = :protocol)
	AND (:host IS NULL OR host = :host OR address = :host)

-- name: decision_owner
-- takes: record_lookup
-- gives: decision_owner
SELECT project_id, egress FROM sandboxes WHERE id = :id;

-- name: decision_insert
-- takes: decision_record
INSERT INTO network_decisions (at, project_id, sandbox_id, verdict, code, protocol, host, address,
	port, rule, credential, count, bytes_in, bytes_out)
VALUES (:at, :project_id, :sandbox_id, :verdict, :code, :protocol, :host, :address, :port, :rule,
	:credential, :count, :bytes_in, :bytes_out);

-- The bytes of a connection are known at its end: they belong to the newest row about its host.
-- name: decision_add_bytes
-- takes: decision_record
UPDATE network_decisions SET bytes_in = bytes_in + :bytes_in, bytes_out = bytes_out + :bytes_out
WHERE sequence = (
	SELECT max(sequence) FROM network_decisions
	WHERE sandbox_id = :sandbox_id AND verdict = :verdict AND host = :host AND port = :port
		AND protocol = :protocol);

-- name: decision_list
-- takes: decision_search
-- gives: decision_record
SELECT {decision} FROM network_decisions WHERE {decision_filters} ORDER BY sequence LIMIT :limit;

-- name: decision_newest
-- takes: decision_search
-- gives: decision_record
SELECT {decision} FROM network_decisions WHERE {decision_filters}
ORDER BY sequence DESC LIMIT :limit;

-- Each by itself: together, min and max would look at every row.
-- name: decision_bounds
-- gives: event_bounds
SELECT COALESCE((SELECT min(sequence) FROM network_decisions), 0) AS oldest,
	COALESCE((SELECT max(sequence) FROM network_decisions), 0) AS newest,
	COALESCE((SELECT at FROM network_decisions ORDER BY sequence LIMIT 1), 0) AS oldest_at;

-- The row before the first recent one whose number does not follow another.
-- name: decision_gap
-- takes: record_lookup
-- gives: row_count
SELECT COALESCE(max(sequence), 0) AS count FROM network_decisions WHERE sequence < (
	SELECT min(e.sequence) FROM network_decisions e
	WHERE e.sequence > (SELECT max(sequence) FROM network_decisions) - 1000
		AND e.sequence > (SELECT min(sequence) FROM network_decisions)
		AND e.at > :now
		AND NOT EXISTS (SELECT 1 FROM network_decisions p WHERE p.sequence = e.sequence - 1));

-- name: decision_purge
-- takes: event_purge
DELETE FROM network_decisions WHERE sequence < :end
	AND (sequence <= :upto OR at < :before);

-- name: decision_trim
-- takes: decision_trim
DELETE FROM network_decisions WHERE sandbox_id = :sandbox_id AND sequence <= (
	SELECT sequence FROM network_decisions WHERE sandbox_id = :sandbox_id
	ORDER BY sequence DESC LIMIT 1 OFFSET :count_max);
