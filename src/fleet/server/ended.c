/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/server/ended.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "fleet/core/cache.h"
#include "fleet/core/soon.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/reconcile.h"
#include "fleet/sandbox/egress.h"
#include "fleet/server/fleet.h"
#include "fleet/usage/meters.h"
#include "fleet/volume/browsers.h"

static struct ended_sandbox *take_ended(struct fleet *f)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->ended_mutex);
	struct ended_sandbox *ended = f->ended;

	f->ended = NULL;
	return ended;
}

/* The provider has paused it already: the row is to say so. */
static int pause_full(struct operation *op, struct error *err)
{
	int result;

	if (op->record.actual != SANDBOX_STARTED)
		return 0;
	cache_close(op->fleet->cache, op->entry);
	result = lifecycle_pause(op, SANDBOX_REASON_DISK, err);
	cache_reopen(op->fleet->cache, op->entry);
	return result;
}

/* The sandbox may have been started again or stopped since: row and provider decide, not the
 * message. */
static int reconcile_end(struct fleet *f, const struct ended_sandbox *ended, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	enum observed_state observed;

	if (operation_begin(f, &arena, ended->id, deadline_after(CALL_TIMEOUT_MS), &op, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	if (op.record.actual != SANDBOX_STARTED && op.record.actual != SANDBOX_PAUSED)
		return 0;
	if (ended->end.reason == SANDBOX_REASON_DISK)
		return pause_full(&op, err);
	if (observed_state_find(&op, &observed, err) < 0)
		return -1;
	/* The counter is that of the start that the row has: nothing has started it since. */
	if (observed == OBSERVED_FILES || observed == OBSERVED_NONE)
		meters_write_last_sent(f, ended->id, ended->end.sent_bytes);
	return lifecycle_reconcile(&op, observed, ended->end.reason, err);
}

void ended_reconcile(struct fleet *f)
{
	struct ended_sandbox *ended = take_ended(f);

	while (ended) {
		struct ended_sandbox *next = ended->next;
		struct error err = {0};

		if (reconcile_end(f, ended, &err) < 0)
			log_warning("an end waits for the next sweep", TEXT("sandbox", ended->id),
			            FAILURE(&err));
		free(ended);
		ended = next;
	}
}

static void run_reports(struct fleet *f)
{
	ended_reconcile(f);
	egress_repeat_rules(f);
}

/* The provider's thread must not call back into it. */
static void queue_reports(struct fleet *f)
{
	fleet_run_soon(f, run_reports);
}

void fleet_on_reconnected(struct fleet *fleet)
{
	atomic_store(&fleet->wants_rules, true);
	queue_reports(fleet);
}

void fleet_on_ended(struct fleet *fleet, const char *id, const struct provider_end *end)
{
	struct ended_sandbox *ended = memory_new(sizeof(*ended));

	browsers_on_ended(fleet, id);
	*ended = (struct ended_sandbox){.end = *end};
	memcpy(ended->id, id, strnlen(id, ID_SIZE));
	pthread_mutex_lock(&fleet->ended_mutex);
	ended->next = fleet->ended;
	fleet->ended = ended;
	pthread_mutex_unlock(&fleet->ended_mutex);
	queue_reports(fleet);
}
