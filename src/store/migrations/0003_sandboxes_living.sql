-- How many living sandboxes a project has, kept by the transactions that change it: counting them
-- cost every create 90 us per thousand. Living: neither failed nor on its way out.
ALTER TABLE projects ADD COLUMN sandboxes_living INTEGER NOT NULL DEFAULT 0;
UPDATE projects SET sandboxes_living = (
	SELECT count(*) FROM sandboxes
	WHERE project_id = projects.id AND actual NOT IN ('deleting', 'deleted', 'failed'));
