/* SPDX-License-Identifier: Apache-2.0 */
#include "grant/grant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "credential/rule.h"
#include "credential/sender.h"
#include "grant/silence.h"
#include "grant/state.h"
#include "store/consents.h"
#include "store/credentials.h"
#include "store/sandboxes.h"

#define ROUND_MS 1000
#define PURGE_EVERY 60        /* rounds */
#define PURGE_KEPT_EVERY 3600 /* rounds */
#define HOUR_MS (INT64_C(3600) * 1000)
#define KEPT_MS (INT64_C(30) * 24 * 3600 * 1000)

/* A failure of one sandbox is no failure of the others; its set stays as it was. */
void grant_send_set(struct grants *g, const struct sandbox_record *r)
{
	AUTO(arena_wipe) struct arena a = {0};
	struct credential_set set;
	struct error err = {0};

	if (grant_resolve(g, &a, r, &set, &err) < 0 ||
	    credential_sender_put(g->options.sender, &set, &err) < 0)
		log_warning("credentials of a sandbox were not sent", TEXT("sandbox", r->id),
		            FAILURE(&err));
	(void)map_put(&g->sent, r->id, (void *)(uintptr_t)g->round);
}

/* Sets of sandboxes that have no rules any more, or are gone. */
static int remove_others(struct grants *g, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	const char **gone = ARENA_ARRAY(&a, const char *, g->sent.count + 1), *id;
	size_t at = 0, count = 0;
	uintptr_t round;

	while ((round = (uintptr_t)map_next(&g->sent, &at, &id)))
		if (round != g->round)
			gone[count++] = arena_text(&a, id);
	for (size_t i = 0; i < count; i++) {
		if (credential_sender_remove(g->options.sender, gone[i], err) < 0)
			return FAIL_CONTEXT(err, "credentials of sandbox '%s'", gone[i]);
		(void)map_remove(&g->sent, gone[i]);
		(void)map_remove(&g->prepared, gone[i]);
	}
	return 0;
}

/* Under the mutex. */
static int run_round(struct grants *g, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_list found;

	if (store_sandbox_list_with_rules(g->options.store, &a, g->options.node, &found, err) < 0)
		return -1;
	g->round = g->round % UINT32_MAX + 1;
	for (size_t i = 0; i < found.count; i++)
		grant_send_set(g, &found.items[i]);
	if (remove_others(g, err) < 0)
		return -1;
	/* A server that never had rules starts no proxy. */
	if (g->is_settled || found.count == 0)
		return 0;
	g->is_settled = credential_sender_settle(g->options.sender, err) == 0;
	return g->is_settled ? 0 : -1;
}

int grants_refresh(struct grants *g, struct error *err)
{
	if (!g)
		return 0;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&g->mutex);

	return run_round(g, err);
}

struct credential_usage grants_usage(const struct grants *g)
{
	return g ? credential_sender_usage(g->options.sender) : (struct credential_usage){0};
}

bool grant_wait_for_round(struct grants *g)
{
	int64_t deadline = deadline_after(ROUND_MS);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&g->mutex);

	while (!g->is_stopping && deadline_poll_ms(deadline) > 0)
		thread_wait(&g->wake, &g->mutex, deadline);
	return !g->is_stopping;
}

static void purge_old(struct grants *g, unsigned round)
{
	struct error err = {0};

	if (round % PURGE_EVERY == 0 &&
	    store_consent_purge(g->options.store, clock_unix_ms() - KEPT_MS, &err) < 0)
		log_warning("old consents stay", FAILURE(&err));
	error_clear(&err);
	if (round % PURGE_KEPT_EVERY == 0 &&
	    store_credential_purge_kept(g->options.store, clock_unix_ms() - HOUR_MS, &err) < 0)
		log_warning("values of former rules stay", FAILURE(&err));
}

static void *run_rounds(void *context)
{
	struct grants *g = context;
	struct error err = {0};
	unsigned count = 0;

	(void)prctl(PR_SET_NAME, "grants");
	do {
		error_clear(&err);
		if (grants_refresh(g, &err) < 0)
			log_warning("credentials were not sent", FAILURE(&err));
		credential_sender_measure(g->options.sender);
		if (store_consent_expire(g->options.store, clock_unix_ms(), &err) < 0)
			log_warning("the end of consents is not told", FAILURE(&err));
		grant_note_uses(g);
		grant_audit_round(g, false);
		purge_old(g, count++);
	} while (grant_wait_for_round(g));
	return NULL;
}

int grants_open(const struct grants_options *options, struct grants **ret, struct error *err)
{
	struct grants *g = memory_new(sizeof(*g));
	int code;

	*g = (struct grants){.options = *options, .round = 1};
	(void)pthread_mutex_init(&g->mutex, NULL);
	thread_condition_init(&g->wake);
	code = thread_start(&g->thread, NULL, run_rounds, g);
	g->has_thread = code == 0;
	if (code == 0)
		code = thread_start(&g->trust_thread, NULL, grant_run_trust, g);
	g->has_trust_thread = g->has_thread && code == 0;
	if (code == 0)
		code = thread_start(&g->window_thread, NULL, grant_run_windows, g);
	g->has_window_thread = g->has_trust_thread && code == 0;
	if (code == 0) {
		grant_prepare_starts(g, true);
		*ret = g;
		return 0;
	}
	grants_close(g);
	errno = code;
	return FAIL_ERRNO(err, "start a thread for credentials");
}

void grants_close(struct grants *g)
{
	if (!g)
		return;
	grant_prepare_starts(g, false);
	pthread_mutex_lock(&g->mutex);
	g->is_stopping = true;
	pthread_cond_broadcast(&g->wake);
	pthread_mutex_unlock(&g->mutex);
	if (g->has_thread)
		(void)pthread_join(g->thread, NULL);
	if (g->has_trust_thread)
		(void)pthread_join(g->trust_thread, NULL);
	if (g->has_window_thread)
		(void)pthread_join(g->window_thread, NULL);
	grant_note_uses(g);
	grant_audit_done(g);
	grant_forget_trust(g);
	silence_done(&g->silent);
	map_done(&g->sent);
	map_done(&g->prepared);
	map_done(&g->used);
	(void)pthread_cond_destroy(&g->wake);
	(void)pthread_mutex_destroy(&g->mutex);
	free(g);
}
