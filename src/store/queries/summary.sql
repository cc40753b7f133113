-- name: summary_states
-- takes: summary_search
-- gives: state_tally
SELECT actual, count(*) AS count FROM sandboxes
WHERE project_id = :project_id AND actual <> 'deleted' AND (traits & :hidden_traits) = 0
GROUP BY actual;

-- The same objects that the lists show.
-- name: summary_counts
-- takes: summary_search
-- gives: summary_counts
SELECT (SELECT count(*) FROM templates WHERE project_id = '' OR project_id = :project_id) AS templates,
	(SELECT count(*) FROM builds WHERE project_id = :project_id
		AND state IN ('waiting', 'building')) AS builds_running,
	(SELECT count(*) FROM volumes WHERE project_id = :project_id) AS volumes,
	(SELECT count(*) FROM snapshots WHERE project_id = :project_id
		AND kind = 'taken') AS snapshots,
	(SELECT count(*) FROM jobs WHERE project_id = :project_id AND state = 'running') AS jobs_running,
	(SELECT count(*) FROM approvals WHERE project_id = :project_id AND state = 'pending'
		AND expires_at > :now) AS approvals_pending;
