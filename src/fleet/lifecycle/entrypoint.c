/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/fault.h"
#include "fleet/core/defaults.h"
#include "fleet/lifecycle/moves.h"
#include "json/json.h"
#include "provider/compute.h"
#include "store/templates.h"
#include "wire/agent.h"

#define LABEL "entrypoint"

static int load_words(struct arena *a, const struct template_record *t, const char ***ret,
                      struct error *err)
{
	const struct json_value *list;

	if (json_load(a, span_of(t->entrypoint_json), &list, err) < 0)
		return FAIL_CONTEXT(err, "entrypoint of template '%s'", t->name);
	*ret = json_texts(a, list);
	return 0;
}

/* Returns when the program has been executed or could not be. */
static int start_program(struct operation *op, const struct agent_exec *exec, struct error *err)
{
	struct agent_process started;

	return compute_start(
	        op->provider, op->record.id,
	        &(struct compute_start){exec, op->arena, deadline_after(CALL_TIMEOUT_MS)}, &started,
	        err);
}

/* The agent reports a missing program as not found and one without permission as forbidden. The
 * caller would read that as its sandbox or its key: the template is at fault. */
static bool is_templates_fault(const struct error *err)
{
	return err->code == ERROR_NOT_FOUND || err->code == ERROR_FORBIDDEN ||
	       err->code == ERROR_INVALID || err->sys_errno == ENOEXEC;
}

static int explain_failure(const struct template_record *t, const char *program, struct error *err)
{
	if (is_templates_fault(err)) {
		err->code = ERROR_CONFLICT;
		error_hint(err, "change entrypoint, user or workdir of template '%.64s'", t->name);
	}
	return FAIL_CONTEXT(err, "entrypoint '%.80s'", program);
}

int entrypoint_start(struct operation *op, const struct template_record *t, struct error *err)
{
	struct fleet_defaults defaults;
	const char **words;

	/* Most templates have none, and pay nothing for it. */
	if (!*t->entrypoint_json || strcmp(t->entrypoint_json, "[]") == 0)
		return 0;
	if (load_words(op->arena, t, &words, err) < 0 ||
	    defaults_compute(op->fleet, op->arena, &op->record, t, &defaults, err) < 0)
		return -1;
	if (!words[0])
		return 0;
	const struct agent_exec exec = {
	        .args = words,
	        .env = defaults.env,
	        .cwd = defaults.workdir,
	        .user = defaults.user,
	        .label = LABEL,
	        .flags = AGENT_EXEC_DETACH | AGENT_EXEC_RESIDENT,
	};
	if (provider_require(op->provider, PROVIDER_CAN_EXEC, err) < 0 ||
	    start_program(op, &exec, err) < 0)
		return explain_failure(t, words[0], err);
	fault_point("api", "create-entrypoint");
	return 0;
}
