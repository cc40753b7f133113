/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that makes sandboxes trust their authorities. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/core/sandboxes.h"
#include "grant/state.h"
#include "store/consents.h"
#include "store/sandboxes.h"

#define INSTALL_MS 10000 /* all files of a sandbox */
#define WAIT_MIN_MS 1000
#define WAIT_MAX_MS 60000

/* What the thread knows of a sandbox. */
struct trust_state {
	char *mark;       /* of the start and the authority that were installed; NULL: none */
	int64_t next_try; /* monotonic ms */
	int64_t wait_ms;  /* after the next failure */
	bool is_listed;   /* in this round */
};

static void free_state(struct trust_state *state)
{
	if (!state)
		return;
	free(state->mark);
	free(state);
}

void grant_forget_trust(struct grants *g)
{
	struct trust_state *state;
	const char *id;
	size_t at = 0;

	while ((state = map_next(&g->trusted, &at, &id)))
		free_state(state);
	map_done(&g->trusted);
}

static struct trust_state *state_of(struct grants *g, const char *id)
{
	struct trust_state *state = map_find(&g->trusted, id);

	if (state)
		return state;
	state = memory_new(sizeof(*state));
	*state = (struct trust_state){.wait_ms = WAIT_MIN_MS};
	(void)map_put(&g->trusted, id, state);
	return state;
}

/* A sandbox that refuses its files must not hold up the others: it is tried less and less often. */
static void note_failure(struct trust_state *state, const char *id, const struct error *failure)
{
	log_warning("a sandbox does not trust its authority", TEXT("sandbox", id),
	            FAILURE(failure));
	state->next_try = clock_monotonic_ms() + state->wait_ms;
	state->wait_ms = state->wait_ms * 2 < WAIT_MAX_MS ? state->wait_ms * 2 : WAIT_MAX_MS;
}

/* Once for each start and each authority. */
static void ensure_trust(struct grants *g, const struct sandbox_record *r)
{
	AUTO(arena_done) struct arena a = {0};
	struct provider *p = sandbox_provider(g->options.fleet, r);
	struct trust_state *state = state_of(g, r->id);
	struct authority_record authority;
	struct error err = {0};
	const char *mark;
	bool is_found;

	state->is_listed = true;
	if (r->actual != SANDBOX_STARTED || !p || clock_monotonic_ms() < state->next_try ||
	    store_authority_find(g->options.store, &a, r->id, &authority, &is_found, &err) < 0 ||
	    !is_found)
		return;
	mark = arena_format(&a, "%lld %lld", (long long)r->started_at,
	                    (long long)authority.created_at);
	if (state->mark && strcmp(state->mark, mark) == 0)
		return;
	if (grant_take_prepared(g, r->id) != authority.created_at &&
	    grant_install_trust(p, r->id, authority.certificate, deadline_after(INSTALL_MS), &err) <
	            0) {
		note_failure(state, r->id, &err);
		return;
	}
	free(state->mark);
	*state = (struct trust_state){memory_text(mark), 0, WAIT_MIN_MS, true};
}

static void forget_unlisted(struct grants *g)
{
	AUTO(arena_done) struct arena a = {0};
	const char **gone = ARENA_ARRAY(&a, const char *, g->trusted.count + 1), *id;
	struct trust_state *state;
	size_t at = 0, count = 0;

	while ((state = map_next(&g->trusted, &at, &id))) {
		if (!state->is_listed)
			gone[count++] = arena_text(&a, id);
		state->is_listed = false;
	}
	for (size_t i = 0; i < count; i++)
		free_state(map_remove(&g->trusted, gone[i]));
}

static void ensure_all_trust(struct grants *g)
{
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_list found;
	struct error err = {0};

	if (store_sandbox_list_with_rules(g->options.store, &a, g->options.node, &found, &err) < 0)
		return;
	for (size_t i = 0; i < found.count; i++)
		ensure_trust(g, &found.items[i]);
	forget_unlisted(g);
}

void *grant_run_trust(void *grants)
{
	struct grants *g = grants;

	(void)prctl(PR_SET_NAME, "trust");
	do
		ensure_all_trust(g);
	while (grant_wait_for_round(g));
	return NULL;
}
