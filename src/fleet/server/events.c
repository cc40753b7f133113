/* SPDX-License-Identifier: Apache-2.0 */

#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/recovery/retention.h"
#include "fleet/server/rounds.h"
#include "json/write.h"
#include "provider/agent_health.h"
#include "provider/command_ends.h"
#include "sandbox/events.h"
#include "store/activity.h"
#include "store/decisions.h"
#include "store/events.h"
#include "store/sandbox_record.h"
#include "store/snapshots.h"
#include "wire/agent_cause.h"

/* Limit of a tick: so many batches of the store. */
#define PURGES_PER_TICK 20
/* The rest waits for the next one. */
#define ENDS_PER_TICK 200

int fleet_events_purge(struct fleet *fleet, struct error *err)
{
	const struct event_retention keep = {
	        .before = fleet_retention_ms(fleet) - fleet->config->events_keep_ms,
	        .count_max = fleet->config->events_max,
	};
	const struct event_retention keep_activity = {
	        .before = fleet_retention_ms(fleet) - fleet->config->activity_keep_ms,
	        .count_max = fleet->config->activity_total_max,
	};
	bool more = true;

	for (unsigned i = 0; more && i < PURGES_PER_TICK; i++)
		if (store_event_purge(fleet->store, &keep, &more, err) < 0)
			return FAIL_CONTEXT(err, "purge events");
	more = true;
	for (unsigned i = 0; more && i < PURGES_PER_TICK; i++)
		if (store_activity_purge(fleet->store, &keep_activity, &more, err) < 0)
			return FAIL_CONTEXT(err, "purge activity");
	more = true;
	for (unsigned i = 0; more && i < PURGES_PER_TICK; i++)
		if (store_decision_purge(fleet->store, &keep_activity, &more, err) < 0)
			return FAIL_CONTEXT(err, "purge network decisions");
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

static const char *describe_end(struct arena *a, const struct command_end *end)
{
	AUTO(buf_done) struct buf out = BUF(1024);

	json_begin_object(&out, NULL);
	json_add_text(&out, "cause", end->cause);
	json_add_whole(&out, "process", (int64_t)end->process);
	json_add_whole(&out, "exitCode", end->exit_code);
	json_add_whole(&out, "count", (int64_t)end->count);
	json_end_object(&out);
	return arena_copy(a, buf_span(&out));
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
	        .detail = describe_end(a, end),
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
