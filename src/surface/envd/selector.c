/* SPDX-License-Identifier: Apache-2.0 */
/* Processes by their pid inside the sandbox, or by the tag that the client gave them. */
#include <string.h>

#include "edge/target.h"
#include "provider/compute.h"
#include "surface/envd/envd.h"
#include "wire/agent.h"

struct process_search {
	struct arena *arena;
	int64_t pid; /* 0 = search by tag */
	const char *tag;
	struct agent_process found;
	bool has_found;
};

/* A pid may have been reused: a running process is preferred to an ended one, and a younger one to
 * an older one. */
static bool is_better(const struct process_search *s, const struct agent_process *p)
{
	return !s->has_found || p->state == AGENT_PROCESS_RUNNING ||
	       s->found.state != AGENT_PROCESS_RUNNING;
}

static void compare_process(void *context, const struct agent_process *p)
{
	struct process_search *s = context;

	if (p->flags & AGENT_EXEC_RESIDENT || !is_better(s, p) ||
	    (s->tag ? strcmp(p->label, s->tag) != 0 : p->pid != s->pid))
		return;
	s->found = *p;
	s->found.label = s->found.user = s->found.cwd = "";
	s->found.args = NULL;
	s->has_found = true;
}

int envd_process_find(struct request *rq, const struct api_target *t,
                      const struct json_value *selector, struct agent_process *ret,
                      struct error *err)
{
	struct process_search s = {.pid = json_whole(json_get(selector, "pid"), 0),
	                           .tag = json_text(json_get(selector, "tag"), NULL)};

	if (s.pid <= 0 && !s.tag)
		return FAIL(err, ERROR_INVALID, "process has neither a pid nor a tag");
	if (compute_processes(t->provider, t->id, compare_process, &s, rq->deadline, err) < 0)
		return -1;
	if (!s.has_found && s.tag)
		return FAIL(err, ERROR_NOT_FOUND, "process with tag %.64s not found", s.tag);
	if (!s.has_found)
		return FAIL(err, ERROR_NOT_FOUND, "process with pid %lld not found",
		            (long long)s.pid);
	*ret = s.found;
	return 0;
}
