/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a sandbox with rules: before its first command the proxy has its set, and its
 * programs trust its authority. */
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "fleet/core/preparer.h"
#include "grant/state.h"
#include "store/consents.h"
#include "store/sandbox_record.h"

#define INSTALL_MS 3000 /* the caller of the start waits for it */

static void note_prepared(struct grants *g, const char *id, int64_t authority)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&g->mutex);

	/* A sandbox that was deleted meanwhile would never be taken out again. */
	if (map_find(&g->sent, id))
		(void)map_put(&g->prepared, id, (void *)(uintptr_t)authority);
}

/* The trust thread does the same a second later, and tries again after a failure. */
static void prepare_sandbox(void *context, struct provider *p, const struct sandbox_record *r)
{
	AUTO(arena_done) struct arena a = {0};
	struct grants *g = context;
	struct authority_record authority;
	struct error err = {0};
	bool is_found;

	pthread_mutex_lock(&g->mutex);
	grant_send_set(g, r);
	pthread_mutex_unlock(&g->mutex);
	if (store_authority_find(g->options.store, &a, r->id, &authority, &is_found, &err) < 0 ||
	    (is_found && grant_install_trust(p, r->id, authority.certificate,
	                                     deadline_after(INSTALL_MS), &err) < 0)) {
		log_info("a sandbox starts without trust in its authority", TEXT("sandbox", r->id),
		         FAILURE(&err));
		return;
	}
	if (is_found)
		note_prepared(g, r->id, authority.created_at);
}

void grant_prepare_starts(struct grants *g, bool is_on)
{
	const struct fleet_preparer preparer = {prepare_sandbox, g};

	if (g->options.fleet)
		fleet_set_preparer(g->options.fleet, is_on ? &preparer : NULL);
}

int64_t grant_take_prepared(struct grants *g, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&g->mutex);

	return (int64_t)(uintptr_t)map_remove(&g->prepared, id);
}
