/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that ends terminal windows with values of credentials whose consent has ended. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/core/sandboxes.h"
#include "grant/state.h"
#include "provider/compute.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "store/secret_windows.h"
#include "wire/agent_secrets.h"

#define END_MS 1000      /* of one sandbox in a round: its agent may be hostile */
#define OPENING_MS 60000 /* from the row to the window, at most */
#define WINDOW_LABEL "terminal:"

/* The windows of one sandbox. */
struct window_round {
	struct grants *g;
	struct arena *arena;
	const struct secret_window *rows;
	size_t count;
	struct window_process {
		uint64_t process;
		const char *name;
	} running[64];
	size_t running_count;
};

static void on_process(void *context, const struct agent_process *p)
{
	struct window_round *at = context;

	if (p->state != AGENT_PROCESS_RUNNING || !(p->flags & AGENT_EXEC_SECRET) ||
	    strncmp(p->label, WINDOW_LABEL, strlen(WINDOW_LABEL)) != 0 ||
	    at->running_count == COUNT_OF(at->running))
		return;
	at->running[at->running_count++] = (struct window_process){
	        p->process, arena_text(at->arena, p->label + strlen(WINDOW_LABEL))};
}

static bool has_ended(const struct window_round *at, const char *name)
{
	for (size_t i = 0; i < at->count; i++)
		if (strcmp(at->rows[i].name, name) == 0 && !at->rows[i].holding)
			return true;
	return false;
}

static bool is_running(const struct window_round *at, const char *name)
{
	for (size_t i = 0; i < at->running_count; i++)
		if (strcmp(at->running[i].name, name) == 0)
			return true;
	return false;
}

static bool is_known(const struct window_round *at, const char *name)
{
	for (size_t i = 0; i < at->count; i++)
		if (strcmp(at->rows[i].name, name) == 0)
			return true;
	return false;
}

static int read_rows(struct window_round *at, const char *id, struct error *err)
{
	struct secret_window_list found;

	if (store_secret_window_list(at->g->options.store, at->arena, id, clock_unix_ms(), &found,
	                             err) < 0)
		return -1;
	at->rows = found.items;
	at->count = found.count;
	return 0;
}

static int end_windows(struct window_round *at, struct provider *p, const char *id,
                       struct error *err)
{
	int64_t deadline = deadline_after(END_MS);

	/* The rows are read after the processes: a window without a row is one that was opened
	 * by a server that could not write it. */
	if (compute_processes(p, id, on_process, at, deadline, err) < 0 ||
	    read_rows(at, id, err) < 0)
		return -1;
	for (size_t i = 0; i < at->running_count; i++) {
		const struct agent_signal end = {
		        .process = at->running[i].process, .signal = SIGKILL, .whole_tree = 1};

		if (is_known(at, at->running[i].name) && !has_ended(at, at->running[i].name))
			continue;
		if (compute_signal(p, id, AGENT_SIGNAL, &end, deadline, err) < 0)
			return -1;
		log_info("a window with credentials was ended", TEXT("sandbox", id),
		         TEXT("window", at->running[i].name));
	}
	return 0;
}

static void forget_windows(struct window_round *at)
{
	struct error err = {0};

	for (size_t i = 0; i < at->count; i++)
		if (!is_running(at, at->rows[i].name) &&
		    at->rows[i].created_at < clock_unix_ms() - OPENING_MS &&
		    store_secret_window_remove(at->g->options.store, &at->rows[i], &err) < 0) {
			log_warning("a window that has ended stays listed", FAILURE(&err));
			error_clear(&err);
		}
}

/* A sandbox that does not answer is asked again in the next round. */
static void look_at_sandbox(struct grants *g, const struct secret_window *rows, size_t count)
{
	AUTO(arena_done) struct arena a = {0};
	struct window_round at = {.g = g, .arena = &a, .rows = rows, .count = count};
	struct sandbox_record r;
	struct error err = {0};
	struct provider *p;

	if (store_sandbox_find(g->options.store, &a, NULL, rows->sandbox_id, &r, &err) < 0)
		return;
	p = sandbox_provider(g->options.fleet, &r);
	if (r.actual == SANDBOX_STARTED && (!p || end_windows(&at, p, r.id, &err) < 0)) {
		log_warning("windows with credentials could not be looked at",
		            TEXT("sandbox", r.id), FAILURE(&err));
		return;
	}
	forget_windows(&at);
}

static bool is_stopping(struct grants *g)
{
	bool stops;

	(void)pthread_mutex_lock(&g->mutex);
	stops = g->is_stopping;
	(void)pthread_mutex_unlock(&g->mutex);
	return stops;
}

static void look_at_windows(struct grants *g)
{
	AUTO(arena_done) struct arena a = {0};
	struct secret_window_list found;
	struct error err = {0};
	size_t next;

	if (store_secret_window_list_of_node(g->options.store, &a, g->options.node, clock_unix_ms(),
	                                     &found, &err) < 0) {
		log_warning("windows with credentials could not be listed", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < found.count && !is_stopping(g); i = next) {
		for (next = i + 1; next < found.count; next++)
			if (strcmp(found.items[next].sandbox_id, found.items[i].sandbox_id) != 0)
				break;
		look_at_sandbox(g, &found.items[i], next - i);
	}
}

void *grant_run_windows(void *grants)
{
	struct grants *g = grants;

	(void)prctl(PR_SET_NAME, "windows");
	do
		look_at_windows(g);
	while (grant_wait_for_round(g));
	return NULL;
}
