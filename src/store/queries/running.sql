-- Of the kinds that event_kind_of_move gives, those of states that a running sandbox begins or ends
-- with. The others follow them: "sandbox.deleted" comes after "sandbox.deleting" alone.
-- fragment: turns
'sandbox.started', 'sandbox.resumed', 'sandbox.paused', 'sandbox.stopping', 'sandbox.stopped',
	'sandbox.deleting', 'sandbox.failed'

-- Each begin and end of a run, summed by step; step -1 is the time before `from`, and `step_count`
-- that after `until`. `unseen` is the number of sandboxes whose first event ends a run, so its begin
-- is no longer among the events. `running` counts from 0 before the first event, without those.
-- name: running_steps
-- takes: running_search
-- gives: running_step
SELECT step, CAST(SUM(change) AS BIGINT) AS change, CAST(MAX(running) AS BIGINT) AS running,
	CAST(SUM(CASE WHEN change > 0 THEN 1 ELSE 0 END) AS BIGINT) AS starts,
	CAST(SUM(unseen) AS BIGINT) AS unseen
FROM (
	SELECT CASE WHEN at < :from THEN -1 WHEN at > :until THEN :step_count
			ELSE (at - :from) / :step_ms END AS step, change, unseen,
		SUM(change) OVER (ORDER BY at, sequence) AS running
	FROM (
		SELECT sequence, at, sandbox_id, runs - COALESCE(ran, was_running) AS change,
			CASE WHEN ran IS NULL THEN was_running ELSE 0 END AS unseen
		FROM (
			SELECT sequence, at, sandbox_id,
				CASE WHEN kind IN ('sandbox.started', 'sandbox.resumed') THEN 1 ELSE 0 END AS runs,
				CASE WHEN kind IN ('sandbox.paused', 'sandbox.stopping') THEN 1 ELSE 0 END
					AS was_running,
				LAG(CASE WHEN kind IN ('sandbox.started', 'sandbox.resumed') THEN 1 ELSE 0 END)
					OVER (PARTITION BY sandbox_id ORDER BY sequence) AS ran
			FROM events
			WHERE sequence > :after AND project_id = :project_id AND kind IN ({turns})
		) AS turns
	) AS changes LEFT JOIN sandboxes ON sandboxes.id = changes.sandbox_id
	WHERE change <> 0 AND (COALESCE(sandboxes.traits, 0) & :hidden_traits) = 0
) AS runs
GROUP BY step
ORDER BY step;

-- Those that have run since before the first event.
-- name: running_throughout
-- takes: running_search
-- gives: row_count
SELECT count(*) AS count FROM sandboxes
WHERE project_id = :project_id AND actual = 'started' AND (traits & :hidden_traits) = 0
	AND NOT EXISTS (SELECT 1 FROM events
		WHERE events.sandbox_id = sandboxes.id AND events.sequence > :after
			AND events.kind IN ({turns}));
