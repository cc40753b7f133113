/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/events.h"

#include <inttypes.h>

#include "base/log.h"
#include "fleet/fleet_state.h"
#include "fleet/retention.h"
#include "json/json.h"
#include "provider/agent_health.h"
#include "provider/command_ends.h"
#include "sandbox/events.h"
#include "store/snapshots.h"
#include "wire/agent_cause.h"

/* What one tick drops at most: so many times what the store drops at once. */
#define PURGES_PER_TICK 20
/* The rest waits for the next one. */
#define ENDS_PER_TICK 200

static const struct json_member fleet_event_shape_members[] = {
        JSON_WHOLE_MEMBER(fleet_event, sequence,
                          .about = "grows over all of the server's events; for after="),
        JSON_TIME_MEMBER(fleet_event, at),
        JSON_TEXT_MEMBER(fleet_event, kind, .example = "sandbox.started"),
        JSON_TEXT_MEMBER(fleet_event, project, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(fleet_event, sandbox, .flags = JSON_NULLABLE, .about = "its id"),
        JSON_TEXT_MEMBER(fleet_event, reason, .flags = JSON_NULLABLE,
                         .about = "why it ends: user, idle, lifetime, oom, exit, host_lost, error, "
                                  "budget, disk; of "
                                  "command.limited the cause: timeout, oom, file_size, disk, "
                                  "process_limit"),
        JSON_TEXT_MEMBER(fleet_event, text, .about = "for people: started in 4 ms"),
        JSON_RAW_MEMBER(
                fleet_event, detail, .flags = JSON_OMIT_EMPTY,
                .about = "of a job: resultId, status, exitCode, cause, conversation, stdout"),
        JSON_END,
};
JSON_SHAPE(fleet_event_shape, "Event", fleet_event, "Something that happened");

static const char *null_if_empty(const char *text)
{
	return text && *text ? text : NULL;
}

struct fleet_event fleet_event_of(const struct event_record *r)
{
	return (struct fleet_event){
	        .sequence = r->sequence,
	        .at = r->at,
	        .kind = r->kind,
	        .project = null_if_empty(r->project_id),
	        .sandbox = null_if_empty(r->sandbox_id),
	        .reason = null_if_empty(r->reason),
	        .text = r->text,
	        .detail = span_of(r->detail),
	};
}

void fleet_event_write(struct buf *out, const struct event_record *r)
{
	const struct fleet_event event = fleet_event_of(r);

	json_write(out, &fleet_event_shape, &event);
}

int fleet_events_purge(struct fleet *fleet, struct error *err)
{
	const struct event_retention keep = {
	        .before = fleet_retention_ms(fleet) - fleet->config->events_keep_ms,
	        .count_max = fleet->config->events_max,
	};
	bool more = true;

	for (unsigned i = 0; more && i < PURGES_PER_TICK; i++)
		if (store_event_purge(fleet->store, &keep, &more, err) < 0)
			return FAIL_CONTEXT(err, "purge events");
	return 0;
}

void fleet_events_add_unresponsive(struct fleet *fleet, const struct sandbox_record *r)
{
	const struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = r->project_id,
	        .sandbox_id = r->id,
	        .kind = event_kind_name(EVENT_SANDBOX_UNRESPONSIVE),
	        .reason = "",
	        .text = "its agent does not answer: its calls are refused until it does",
	        .detail = "",
	};
	struct error err = {0};

	if (!agent_health_take_news(r->id))
		return;
	log_warning("agent does not answer", TEXT("sandbox", r->id));
	if (store_event_add(fleet->store, &event, &err) < 0)
		log_warning("an event is lost", TEXT("sandbox", r->id), FAILURE(&err));
}

/* A sandbox that has gone meanwhile has its row for some time yet. */
static int add_end(struct fleet *f, struct arena *a, const struct command_end *end,
                   struct error *err)
{
	struct sandbox_record r;
	struct event_record event = {
	        .at = clock_unix_ms(),
	        .sandbox_id = end->id,
	        .kind = event_kind_name(EVENT_COMMAND_LIMITED),
	        .reason = end->cause,
	        .text = arena_format(a, "a command ended: %s", agent_cause_explain(end->cause)),
	        .detail = arena_format(a,
	                               "{\"cause\":\"%s\",\"process\":%" PRIu64
	                               ",\"exitCode\":%" PRId64 ",\"count\":%" PRIu64 "}",
	                               end->cause, end->process, end->exit_code, end->count),
	};

	if (store_sandbox_find_ended(f->store, a, NULL, end->id, &r, err) < 0)
		return -1;
	event.project_id = r.project_id;
	return store_event_add(f->store, &event, err);
}

void fleet_events_add_ends(struct fleet *fleet)
{
	struct command_end end;

	for (unsigned i = 0; i < ENDS_PER_TICK && command_ends_take(clock_monotonic_ms(), &end);
	     i++) {
		AUTO(arena_done) struct arena arena = {0};
		struct error err = {0};

		if (add_end(fleet, &arena, &end, &err) < 0)
			log_warning("an event is lost", TEXT("sandbox", end.id), FAILURE(&err));
	}
}
