/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/text_map.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/service_send.h"
#include "fleet/sandbox/services.h"
#include "json/json.h"
#include "sandbox/events.h"
#include "store/events.h"
#include "json/write.h"
#include "provider/compute.h"
#include "store/sandboxes.h"
#include "wire/agent.h"

/* How long an answer waits for the result of a start or an end. */
#define SETTLE_MS 1000
#define SETTLE_EVERY_MS 10
#define ARGS_SIZE_MAX (128 * 1024)
#define LOG_MESSAGES_MAX 64
#define LOG_TIMEOUT_MS 5000

static int check_words(const struct fleet_service *s, struct error *err)
{
	size_t size = 0;

	if (s->command && s->args)
		return FAIL(err, ERROR_INVALID, "command and args are both given");
	if (s->command &&
	    strnlen(s->command, FLEET_SERVICE_COMMAND_MAX + 1) > FLEET_SERVICE_COMMAND_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the command is longer than %d bytes",
		            FLEET_SERVICE_COMMAND_MAX);
	if (s->command && *s->command)
		return 0;
	if (!s->args || !s->args[0] || !*s->args[0])
		return FAIL(err, ERROR_INVALID, "a service needs a command");
	for (size_t i = 0; s->args[i]; i++)
		size += strlen(s->args[i]) + 1;
	return size <= ARGS_SIZE_MAX
	               ? 0
	               : FAIL(err, ERROR_TOO_LARGE, "the arguments are longer than %d bytes",
	                      ARGS_SIZE_MAX);
}

static int check_range(const char *what, int64_t value, int64_t max, struct error *err)
{
	if (value >= 0 && value <= max)
		return 0;
	return FAIL(err, ERROR_INVALID, "%s of %lld is not in 0..%lld", what, (long long)value,
	            (long long)max);
}

static int check_service(const struct fleet_service *s, struct error *err)
{
	if (sandbox_name_check(s->name, err) < 0)
		return FAIL_CONTEXT(err, "service '%.80s'", s->name);
	if ((s->env && environment_check(s->env, err) < 0) || check_words(s, err) < 0 ||
	    check_range("restart_limit", s->failures_max, FLEET_SERVICE_FAILURES_MAX, err) < 0 ||
	    check_range("restart_delay_ms", s->delay_ms, FLEET_SERVICE_DELAY_MAX_MS, err) < 0 ||
	    check_range("stop_timeout_ms", s->stop_ms, FLEET_SERVICE_STOP_MAX_MS, err) < 0)
		return -1;
	return 0;
}

static struct service_record record_of(struct arena *a, const struct fleet_service *s,
                                       const char *sandbox_id)
{
	const struct json_map none = {.count = 0};

	return (struct service_record){
	        .id = arena_text(a, id_new().text),
	        .sandbox_id = sandbox_id,
	        .name = s->name,
	        .command = s->command ? s->command : "",
	        .args_json = json_format_texts(a, s->args),
	        .cwd = s->cwd ? s->cwd : "",
	        .run_as = s->user ? s->user : "",
	        .env_json = json_format_map(a, s->env ? s->env : &none),
	        .restart = s->restart,
	        .failures_max = s->failures_max,
	        .delay_ms = s->delay_ms ? s->delay_ms : FLEET_SERVICE_DELAY_MS,
	        .stop_ms = s->stop_ms ? s->stop_ms : FLEET_SERVICE_STOP_MS,
	        .keeps_awake = s->keeps_awake,
	        .wish = SERVICE_RUNNING,
	        .created_at = clock_unix_ms(),
	        .updated_at = clock_unix_ms(),
	};
}

static const char *state_of_phase(uint32_t phase)
{
	static const char *const names[AGENT_SERVICE_PHASE_COUNT] = {
	        [AGENT_SERVICE_STARTING] = "starting", [AGENT_SERVICE_RUNNING] = "running",
	        [AGENT_SERVICE_BACKOFF] = "backoff",   [AGENT_SERVICE_STOPPING] = "stopping",
	        [AGENT_SERVICE_STOPPED] = "stopped",   [AGENT_SERVICE_EXITED] = "exited",
	        [AGENT_SERVICE_FAILED] = "failed",
	};

	return phase < AGENT_SERVICE_PHASE_COUNT ? names[phase] : "unknown";
}

/* NULL: its agent can be asked. */
static const char *state_of_sandbox(const struct sandbox_record *r)
{
	if (r->actual == SANDBOX_STARTED)
		return NULL;
	return r->actual == SANDBOX_PAUSED ? "paused" : "down";
}

static void fill_view(struct fleet_service_view *v, const struct service_states *states,
                      const char *state)
{
	v->agent = (struct agent_service_state){.exit_code = -1, .error = ""};
	v->state = state;
	if (v->state)
		return;
	/* A service that the agent does not know yet is about to be sent to it. */
	v->state = v->record.wish == SERVICE_RUNNING ? "starting" : "stopped";
	for (size_t i = 0; i < states->count; i++) {
		if (strcmp(states->items[i].id, v->record.id) != 0)
			continue;
		v->agent = states->items[i];
		v->state = state_of_phase(v->agent.phase);
	}
}

static int view_services(struct fleet *f, struct arena *a, const struct sandbox_record *sandbox,
                         struct fleet_service_views *ret, struct error *err)
{
	const char *state = state_of_sandbox(sandbox);
	struct service_states states = {.count = 0};
	struct service_list list;
	struct error why = {0};

	if (store_service_list(f->store, a, sandbox->id, &list, err) < 0)
		return -1;
	ret->items = ARENA_ARRAY(a, struct fleet_service_view, list.count + 1);
	ret->count = 0;
	if (!state && list.count > 0 && service_ask(f, a, sandbox->id, &states, &why) < 0) {
		log_debug("its services are not known", TEXT("sandbox", sandbox->id),
		          FAILURE(&why));
		state = "unknown";
	}
	for (size_t i = 0; i < list.count; i++) {
		if (list.items[i].wish == SERVICE_REMOVED)
			continue;
		ret->items[ret->count].record = list.items[i];
		fill_view(&ret->items[ret->count++], &states, state);
	}
	return 0;
}

int fleet_services(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                   struct fleet_service_views *ret, struct error *err)
{
	struct sandbox_record sandbox;

	if (fleet_find(fleet, a, ref, &sandbox, err) < 0 ||
	    sandbox_check_local(fleet, &sandbox, err) < 0)
		return -1;
	return view_services(fleet, a, &sandbox, ret, err);
}

int fleet_service_find(struct fleet *fleet, struct arena *a, const struct fleet_service_ref *ref,
                       struct fleet_service_view *ret, struct error *err)
{
	const struct fleet_ref sandbox = {.project_id = ref->project_id,
	                                  .id_or_name = ref->sandbox};
	struct fleet_service_views views;

	if (fleet_services(fleet, a, &sandbox, &views, err) < 0)
		return -1;
	for (size_t i = 0; i < views.count; i++) {
		if (strcmp(views.items[i].record.name, ref->name) != 0)
			continue;
		*ret = views.items[i];
		return 0;
	}
	return FAIL_MISSING(err, "service", ref->name);
}

static bool is_stable(const struct fleet_service_view *v)
{
	return strcmp(v->state, "starting") != 0 && strcmp(v->state, "stopping") != 0;
}

/* The view once the state is stable, or after SETTLE_MS as it is then. */
static int view_after_change(struct fleet *f, struct arena *a, const struct service_record *r,
                             struct fleet_service_view *ret, struct error *err)
{
	const struct fleet_service_ref ref = {NULL, r->sandbox_id, r->name};
	const struct timespec pause = {.tv_nsec = SETTLE_EVERY_MS * 1000000L};
	int64_t deadline = deadline_after(SETTLE_MS);

	for (;;) {
		AUTO(arena_done) struct arena arena = {0};
		struct fleet_service_view view;

		if (fleet_service_find(f, &arena, &ref, &view, err) < 0)
			return -1;
		if (is_stable(&view) || clock_monotonic_ms() >= deadline)
			return fleet_service_find(f, a, &ref, ret, err);
		(void)nanosleep(&pause, NULL);
	}
}

/* Begins a change of services, of a running or a stopped sandbox. */
static int begin_change(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                        struct operation *ret, struct error *err)
{
	enum sandbox_state state;

	if (operation_find_and_begin(f, a, ref, ret, err) < 0 ||
	    provider_require(ret->provider, PROVIDER_CAN_EXEC, err) < 0)
		return -1;
	state = ret->record.actual;
	if (state == SANDBOX_PAUSED && lifecycle_resume(ret, err) < 0)
		return -1;
	if (state != SANDBOX_STARTED && state != SANDBOX_PAUSED && state != SANDBOX_STOPPED &&
	    state != SANDBOX_ARCHIVED)
		return refuse_state(&ret->record, "given services", err);
	store_sandbox_touch(f->store, ret->record.id, clock_unix_ms());
	return ret->record.actual == SANDBOX_STARTED ? services_catch_up(ret, err) : 0;
}

/* Removes the row of a service that the agent has refused; otherwise the tick would send it for
 * ever. */
static void undo_put(struct fleet *f, const struct service_record *r, const struct error *why)
{
	struct error err = {0};

	if (why->code != ERROR_UNSUPPORTED && why->code != ERROR_LIMIT &&
	    why->code != ERROR_INVALID)
		return;
	if (store_service_remove(f->store, r, &err) < 0)
		log_warning("a service that was refused is left", TEXT("service", r->id),
		            FAILURE(&err));
}

/* Told after the change: a crash in between loses the event and nothing else. */
static void tell_service(const struct operation *op, const struct service_record *r)
{
	static const enum event_kind wish_kinds[] = {
	        [SERVICE_RUNNING] = EVENT_SERVICE_STARTED,
	        [SERVICE_STOPPED] = EVENT_SERVICE_STOPPED,
	        [SERVICE_REMOVED] = EVENT_SERVICE_REMOVED,
	};
	const struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = op->record.project_id,
	        .sandbox_id = op->record.id,
	        .kind = event_kind_name(wish_kinds[r->wish]),
	        .text = r->name,
	};
	struct error err = {0};

	if (store_event_add(op->fleet->store, &event, &err) < 0)
		log_warning("an event is lost", TEXT("sandbox", op->record.id), FAILURE(&err));
}

static int put_service(struct operation *op, const struct fleet_service *service,
                       struct service_record *ret, struct error *err)
{
	struct fleet *f = op->fleet;
	const struct service_record wanted = record_of(op->arena, service, op->record.id);
	bool was_told;

	if (store_service_put(f->store, op->arena, &wanted, FLEET_SERVICES_MAX, ret, err) < 0)
		return -1;
	fault_point("api", "service-recorded");
	was_told = ret->is_told;
	if (op->record.actual != SANDBOX_STARTED || was_told || service_send(op, ret, err) == 0) {
		if (!was_told)
			tell_service(op, ret);
		return 0;
	}
	if (strcmp(ret->id, wanted.id) == 0)
		undo_put(f, ret, err);
	return -1;
}

int fleet_service_put(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                      const struct fleet_service *service, struct fleet_service_view *ret,
                      struct error *err)
{
	struct service_record record;
	struct operation op = {0};
	int result;

	if (check_service(service, err) < 0)
		return -1;
	result = begin_change(fleet, a, ref, &op, err);
	if (result == 0)
		result = put_service(&op, service, &record, err);
	operation_end(&op);
	return result < 0 ? -1 : view_after_change(fleet, a, &record, ret, err);
}

/* Whether there is nothing to be done. */
static bool is_wish_met(const struct service_record *r, enum fleet_service_verb verb)
{
	return (verb == FLEET_SERVICE_START && r->wish == SERVICE_RUNNING) ||
	       (verb == FLEET_SERVICE_STOP && r->wish == SERVICE_STOPPED);
}

static bool has_ended(struct operation *op, const struct service_record *r)
{
	struct service_states states;

	if (op->record.actual != SANDBOX_STARTED ||
	    service_ask(op->fleet, op->arena, op->record.id, &states, &(struct error){0}) < 0)
		return false;
	for (size_t i = 0; i < states.count; i++)
		if (strcmp(states.items[i].id, r->id) == 0)
			return states.items[i].phase == AGENT_SERVICE_EXITED ||
			       states.items[i].phase == AGENT_SERVICE_FAILED;
	return false;
}

static int change_service(struct operation *op, const char *name, enum fleet_service_verb verb,
                          struct service_record *ret, struct error *err)
{
	static const enum service_wish wishes[] = {
	        [FLEET_SERVICE_START] = SERVICE_RUNNING,
	        [FLEET_SERVICE_STOP] = SERVICE_STOPPED,
	        [FLEET_SERVICE_RESTART] = SERVICE_RUNNING,
	        [FLEET_SERVICE_REMOVE] = SERVICE_REMOVED,
	};
	struct fleet *f = op->fleet;
	const struct service_ref ref = {op->record.id, name};
	const struct service_change wanted = {op->record.id, name, wishes[verb], clock_unix_ms()};

	if (store_service_find(f->store, op->arena, &ref, ret, err) < 0)
		return -1;
	/* A request also starts a service that has ended and would not restart. */
	if (is_wish_met(ret, verb) && !(verb == FLEET_SERVICE_START && has_ended(op, ret)))
		return 0;
	if (store_service_wish(f->store, op->arena, &wanted, ret, err) < 0)
		return -1;
	fault_point("api", "service-changed");
	if (op->record.actual == SANDBOX_STARTED) {
		if (service_send(op, ret, err) < 0)
			return -1;
	} else if (verb == FLEET_SERVICE_REMOVE && store_service_remove(f->store, ret, err) < 0) {
		return -1;
	}
	tell_service(op, ret);
	return 0;
}

int fleet_service_do(struct fleet *fleet, struct arena *a, const struct fleet_service_ref *ref,
                     enum fleet_service_verb verb, struct fleet_service_view *ret,
                     struct error *err)
{
	const struct fleet_ref sandbox = {.project_id = ref->project_id,
	                                  .id_or_name = ref->sandbox};
	struct service_record record;
	struct operation op = {0};
	int result = begin_change(fleet, a, &sandbox, &op, err);

	if (result == 0)
		result = change_service(&op, ref->name, verb, &record, err);
	operation_end(&op);
	if (result != 0 || verb == FLEET_SERVICE_REMOVE)
		return result;
	return view_after_change(fleet, a, &record, ret, err);
}

static uint64_t first_of(int64_t since, size_t max, uint64_t end)
{
	uint64_t back;

	if (since >= 0)
		return (uint64_t)since < end ? (uint64_t)since : end;
	back = (uint64_t)-since < max ? (uint64_t)-since : max;
	return back < end ? end - back : 0;
}

struct log_reading {
	struct buf out[2];
	struct fleet_service_log *log;
	unsigned messages;
};

/* A hostile agent sends no more than was asked for, and no holes. */
static int take_output(void *context, const void *reply, struct error *err)
{
	struct log_reading *r = context;
	const struct agent_output *o = reply;
	unsigned i = o->stream - AGENT_STDOUT;

	if (++r->messages > LOG_MESSAGES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the agent's answer is too long");
	if (o->stream != AGENT_STDOUT && o->stream != AGENT_STDERR)
		return FAIL(err, ERROR_SYSTEM, "the agent sent output of stream %u", o->stream);
	if (r->out[i].size == 0)
		r->log->offset[i] = o->offset;
	else if (o->offset != r->log->offset[i] + r->out[i].size)
		return 0;
	if (o->bytes.size > r->out[i].size_max - r->out[i].size)
		return FAIL(err, ERROR_TOO_LARGE, "the agent's answer is too long");
	buf_add_span(&r->out[i], o->bytes);
	return 0;
}

static int read_log(struct fleet *f, struct arena *a, const char *sandbox_id,
                    const struct agent_service_log *wanted, struct fleet_service_log *ret,
                    struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct log_reading reading = {{BUF(wanted->max), BUF(wanted->max)}, ret, 0};
	struct agent_output output;
	const struct compute_call call = {
	        .type = AGENT_SERVICE_LOG,
	        .shape = agent_service_log_shape,
	        .message = wanted,
	        WIRE_REPLY(AGENT_OUTPUT, agent_output_shape, output),
	        .on_reply = take_output,
	        .context = &reading,
	};
	struct provider *p;
	int result = sandbox_provider_find(f, sandbox_id, &p, err);

	if (result == 0)
		result = compute_call(p, sandbox_id, &arena, &call, deadline_after(LOG_TIMEOUT_MS),
		                      err);

	for (int i = 0; i < 2; i++) {
		ret->out[i] = (struct span){arena_copy(a, buf_span(&reading.out[i])),
		                            reading.out[i].size};
		buf_done(&reading.out[i]);
	}
	return result;
}

int fleet_service_log(struct fleet *fleet, struct arena *a, const struct fleet_service_ref *ref,
                      const struct fleet_service_log_request *request,
                      struct fleet_service_log *ret, struct error *err)
{
	struct agent_service_log wanted = {.max = (uint32_t)request->max};
	struct fleet_service_view view;

	*ret = (struct fleet_service_log){.offset = {0}};
	if (fleet_service_find(fleet, a, ref, &view, err) < 0)
		return -1;
	/* A service at rest that this boot's agent does not know has no output. */
	if (!view.agent.id)
		return 0;
	wanted.id = view.record.id;
	for (int i = 0; i < 2; i++) {
		ret->end[i] = view.agent.output_end[i];
		wanted.since[i] = ret->offset[i] =
		        first_of(request->since[i], request->max, ret->end[i]);
	}
	return read_log(fleet, a, view.record.sandbox_id, &wanted, ret, err);
}
