/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/service_send.h"
#include <string.h>

#include "base/fault.h"
#include "base/id.h"
#include "base/path.h"
#include "fleet/core/cache.h"
#include "fleet/core/defaults.h"
#include "fleet/core/operation.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/text_map.h"
#include "json/json.h"
#include "provider/compute.h"
#include "store/secrets.h"
#include "store/services.h"
#include "wire/agent.h"

#define ASK_TIMEOUT_MS 5000
/* As other commands are run: by bash where it is, else by sh. */
#define SHELL_LINE "command -v bash >/dev/null 2>&1 && exec bash -c \"$1\"; exec sh -c \"$1\""

static int words_of(struct arena *a, const struct service_record *r, const char ***ret,
                    struct error *err)
{
	const struct json_value *list;
	const char **words;

	if (*r->command) {
		words = ARENA_ARRAY(a, const char *, 6);
		words[0] = "sh";
		words[1] = "-c";
		words[2] = SHELL_LINE;
		words[3] = "sh";
		words[4] = r->command;
		*ret = words;
		return 0;
	}
	if (json_load(a, span_of(r->args_json), &list, err) < 0)
		return -1;
	*ret = json_texts(a, list);
	return 0;
}

static int cwd_of(struct arena *a, const struct service_record *r,
                  const struct fleet_defaults *defaults, const char **ret, struct error *err)
{
	*ret = defaults->workdir ? defaults->workdir : "";
	return *r->cwd ? path_resolve(a, path_or_root(defaults->workdir), span_of(r->cwd), ret, err)
	               : 0;
}

static int fill_message(struct operation *op, const struct service_record *r,
                        struct agent_service *ret, struct error *err)
{
	static const uint32_t wishes[SERVICE_WISH_COUNT] = {
	        [SERVICE_RUNNING] = AGENT_SERVICE_RUN,
	        [SERVICE_STOPPED] = AGENT_SERVICE_STOP,
	        [SERVICE_REMOVED] = AGENT_SERVICE_REMOVE,
	};
	static const uint32_t restarts[SERVICE_RESTART_COUNT] = {
	        [SERVICE_RESTART_ALWAYS] = AGENT_SERVICE_ALWAYS,
	        [SERVICE_RESTART_ON_FAILURE] = AGENT_SERVICE_ON_FAILURE,
	        [SERVICE_RESTART_NO] = AGENT_SERVICE_NEVER,
	};
	struct fleet_defaults defaults;
	struct json_map env;

	*ret = (struct agent_service){
	        .id = r->id,
	        .generation = (uint64_t)r->generation,
	        .name = r->name,
	        .wish = wishes[r->wish],
	        .restart = restarts[r->restart],
	        .failures_max = (uint32_t)r->failures_max,
	        .keeps_awake = r->keeps_awake,
	        .delay_ms = (uint64_t)r->delay_ms,
	        .stop_ms = (uint64_t)r->stop_ms,
	};
	/* A service that ends needs no command, and must end even if its command cannot be read. */
	if (r->wish != SERVICE_RUNNING)
		return 0;
	if (store_secret_check(r->env_json, err) < 0 ||
	    text_map_of_json(op->arena, r->env_json, &env, err) < 0 ||
	    fleet_defaults(op->fleet, op->arena, &op->record, &env, &defaults, err) < 0 ||
	    words_of(op->arena, r, &ret->args, err) < 0 ||
	    cwd_of(op->arena, r, &defaults, &ret->cwd, err) < 0)
		return -1;
	ret->env = defaults.env;
	ret->user = *r->run_as ? r->run_as : defaults.user;
	return 0;
}

static int explain_failure(const struct service_record *r, struct error *err)
{
	if (err->code == ERROR_INVALID && strncmp(err->text, "unknown message", 15) == 0) {
		error_clear(err);
		(void)FAIL(err, ERROR_UNSUPPORTED, "the sandbox's agent is older than this server");
		error_hint(err, "stop the sandbox and start it again");
	}
	return FAIL_CONTEXT(err, "service '%.80s'", r->name);
}

int service_send(struct operation *op, const struct service_record *r, struct error *err)
{
	struct fleet *f = op->fleet;
	struct agent_service_state state;
	struct agent_service message;
	const struct compute_call call = {
	        .type = AGENT_SERVICE,
	        .shape = agent_service_shape,
	        .message = &message,
	        WIRE_REPLY(AGENT_SERVICE_STATE, agent_service_state_shape, state),
	};

	if (fill_message(op, r, &message, err) < 0 ||
	    compute_call(op->provider, op->record.id, op->arena, &call,
	                 deadline_after(ASK_TIMEOUT_MS), err) < 0)
		return explain_failure(r, err);
	fault_point("api", "service-told");
	return r->wish == SERVICE_REMOVED ? store_service_remove(f->store, r, err)
	                                  : store_service_told(f->store, r, err);
}

/* After a boot: the new agent knows no service, and needs only the services that should run. */
static int start_service(struct operation *op, const struct service_record *r, struct error *err)
{
	if (r->wish == SERVICE_REMOVED)
		return store_service_remove(op->fleet->store, r, err);
	if (r->wish == SERVICE_RUNNING)
		return service_send(op, r, err);
	return r->is_told ? 0 : store_service_told(op->fleet->store, r, err);
}

int services_start(struct operation *op, struct error *err)
{
	struct service_list list;

	if (store_service_list(op->fleet->store, op->arena, op->record.id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (start_service(op, &list.items[i], err) < 0)
			return -1;
	return 0;
}

int services_catch_up(struct operation *op, struct error *err)
{
	struct service_list list;

	if (store_service_list(op->fleet->store, op->arena, op->record.id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (!list.items[i].is_told && service_send(op, &list.items[i], err) < 0)
			return -1;
	return 0;
}

static void catch_up_sandbox(struct fleet *f, const char *sandbox_id)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};

	if (cache_is_busy(f->cache, sandbox_id) ||
	    operation_begin(f, &arena, sandbox_id, deadline_after(0), &op, &err) < 0 ||
	    op.record.actual != SANDBOX_STARTED)
		return;
	if (services_catch_up(&op, &err) < 0)
		log_warning("services wait", TEXT("sandbox", sandbox_id), FAILURE(&err));
}

int services_reconcile(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct service_list list;

	if (store_services_to_tell(f->store, &arena, f->node, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (i == 0 || strcmp(list.items[i].sandbox_id, list.items[i - 1].sandbox_id) != 0)
			catch_up_sandbox(f, list.items[i].sandbox_id);
	return 0;
}

static int copy_service(struct fleet *f, struct arena *a, const struct service_record *like,
                        const char *sandbox_id, struct error *err)
{
	struct service_record r = *like;
	struct id id = id_new();

	r.id = id.text;
	r.sandbox_id = sandbox_id;
	r.created_at = r.updated_at = clock_unix_ms();
	return store_service_put(f->store, a, &r, AGENT_SERVICES_MAX, &r, err);
}

int services_copy_to(struct fleet *f, struct arena *a, const struct service_list *like,
                     const char *sandbox_id, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	/* Most have none, and pay nothing for it. */
	if (like->count == 0)
		return 0;
	if (operation_begin(f, a, sandbox_id, deadline_after(CALL_TIMEOUT_MS), &op, err) < 0)
		return -1;
	for (size_t i = 0; i < like->count; i++)
		if (like->items[i].wish != SERVICE_REMOVED &&
		    copy_service(f, a, &like->items[i], sandbox_id, err) < 0)
			return -1;
	fault_point("api", "service-copied");
	return op.record.actual == SANDBOX_STARTED ? services_catch_up(&op, err) : 0;
}

struct asking {
	struct arena *arena;
	struct service_states *states;
};

static int take_state(void *context, const void *reply, struct error *err)
{
	const struct asking *asking = context;
	struct service_states *states = asking->states;
	struct agent_service_state *state;

	if (states->count >= COUNT_OF(states->items))
		return FAIL(err, ERROR_SYSTEM, "the agent tells of too many services");
	state = &states->items[states->count++];
	*state = *(const struct agent_service_state *)reply;
	state->id = arena_text(asking->arena, state->id);
	state->error = arena_text(asking->arena, state->error);
	return 0;
}

static int ask_agent(struct provider *p, struct arena *a, const char *sandbox_id,
                     struct service_states *ret, struct error *err)
{
	struct asking asking = {a, ret};
	struct agent_service_state state;
	const struct compute_call call = {
	        .type = AGENT_SERVICES,
	        WIRE_REPLY(AGENT_SERVICE_STATE, agent_service_state_shape, state),
	        .on_reply = take_state,
	        .context = &asking,
	};

	ret->count = 0;
	return compute_call(p, sandbox_id, a, &call, deadline_after(ASK_TIMEOUT_MS), err);
}

int service_ask(struct fleet *f, struct arena *a, const char *sandbox_id,
                struct service_states *ret, struct error *err)
{
	struct provider *p;

	ret->count = 0;
	if (sandbox_provider_find(f, sandbox_id, &p, err) < 0)
		return -1;
	return ask_agent(p, a, sandbox_id, ret, err);
}

/* The agent starts a service of the same name when the process of this one has ended. */
static int end_inherited(struct operation *op, const struct agent_service_state *inherited,
                         struct error *err)
{
	struct agent_service_state state;
	const struct agent_service message = {
	        .id = inherited->id,
	        .generation = inherited->generation + 1,
	        .name = "",
	        .wish = AGENT_SERVICE_REMOVE,
	        .cwd = "",
	        .user = "",
	};
	const struct compute_call call = {
	        .type = AGENT_SERVICE,
	        .shape = agent_service_shape,
	        .message = &message,
	        WIRE_REPLY(AGENT_SERVICE_STATE, agent_service_state_shape, state),
	};

	return compute_call(op->provider, op->record.id, op->arena, &call,
	                    deadline_after(ASK_TIMEOUT_MS), err);
}

int services_end_inherited(struct operation *op, struct error *err)
{
	struct service_states *states = ARENA_NEW(op->arena, struct service_states);

	if (ask_agent(op->provider, op->arena, op->record.id, states, err) < 0)
		return FAIL_CONTEXT(err, "services of the saved memory");
	for (size_t i = 0; i < states->count; i++)
		if (end_inherited(op, &states->items[i], err) < 0)
			return FAIL_CONTEXT(err, "services of the saved memory");
	return 0;
}
