/* SPDX-License-Identifier: Apache-2.0 */
/* One sandbox in a round of the thread of windows (windows.c). */
#include "grant/window_visit.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/core/sandboxes.h"
#include "grant/state.h"
#include "provider/compute.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "store/secret_windows.h"
#include "wire/agent_secrets.h"

#define WINDOW_LABEL "terminal:"

/* The windows of one sandbox. */
struct window_inspection {
	struct grants *g;
	struct arena *arena;
	const struct secret_window *rows;
	size_t count;
	int64_t deadline;
	struct window_process {
		uint64_t process;
		const char *name;
	} running[64];
	size_t running_count;
};

static void on_process(void *context, const struct agent_process *p)
{
	struct window_inspection *at = context;

	if (p->state != AGENT_PROCESS_RUNNING || !(p->flags & AGENT_EXEC_SECRET) ||
	    strncmp(p->label, WINDOW_LABEL, strlen(WINDOW_LABEL)) != 0 ||
	    at->running_count == COUNT_OF(at->running))
		return;
	at->running[at->running_count++] = (struct window_process){
	        p->process, arena_text(at->arena, p->label + strlen(WINDOW_LABEL))};
}

static bool has_ended(const struct window_inspection *at, const char *name)
{
	for (size_t i = 0; i < at->count; i++)
		if (strcmp(at->rows[i].name, name) == 0 && !at->rows[i].holding)
			return true;
	return false;
}

static bool is_running(const struct window_inspection *at, const char *name)
{
	for (size_t i = 0; i < at->running_count; i++)
		if (strcmp(at->running[i].name, name) == 0)
			return true;
	return false;
}

static bool is_known(const struct window_inspection *at, const char *name)
{
	for (size_t i = 0; i < at->count; i++)
		if (strcmp(at->rows[i].name, name) == 0)
			return true;
	return false;
}

static int read_rows(struct window_inspection *at, const char *id, struct error *err)
{
	struct secret_window_list found;

	if (store_secret_window_list(at->g->options.store, at->arena, id, clock_unix_ms(), &found,
	                             err) < 0)
		return -1;
	at->rows = found.items;
	at->count = found.count;
	return 0;
}

static int end_windows(struct window_inspection *at, struct provider *p, const char *id,
                       struct error *err)
{
	for (size_t i = 0; i < at->running_count; i++) {
		const struct agent_signal end = {
		        .process = at->running[i].process, .signal = SIGKILL, .whole_tree = 1};

		if (is_known(at, at->running[i].name) && !has_ended(at, at->running[i].name))
			continue;
		if (compute_signal(p, id, AGENT_SIGNAL, &end, at->deadline, err) < 0)
			return -1;
		log_info("a window with credentials was ended", TEXT("sandbox", id),
		         TEXT("window", at->running[i].name));
	}
	return 0;
}

/* A list of processes that has no room for a further one does not show that a window has ended. */
static void forget_windows(struct window_inspection *at)
{
	int64_t latest = clock_unix_ms() - SECRET_WINDOW_OPENING_MS;
	struct error err = {0};

	if (at->running_count == COUNT_OF(at->running))
		return;
	for (size_t i = 0; i < at->count; i++)
		if (!is_running(at, at->rows[i].name) && at->rows[i].created_at < latest &&
		    store_secret_window_remove(at->g->options.store, &at->rows[i], &err) < 0) {
			log_warning("a window that has ended stays listed", FAILURE(&err));
			error_clear(&err);
		}
}

static enum window_visit_result look_inside(struct window_inspection *at,
                                            const struct sandbox_record *r,
                                            const struct window_visit *v, struct error *err)
{
	struct provider *p = sandbox_provider(at->g->options.fleet, r);

	if (!p) {
		(void)FAIL(err, ERROR_UNAVAILABLE, "provider '%s' is not open", r->provider);
		return WINDOW_SILENT;
	}
	if (compute_processes(p, r->id, on_process, at, at->deadline, err) < 0)
		return WINDOW_SILENT;
	/* The rows are read after the processes: a window without a row is one that was opened
	 * by a server that could not write it. */
	if (read_rows(at, r->id, err) < 0)
		return WINDOW_UNKNOWN;
	if (end_windows(at, p, r->id, err) < 0)
		return WINDOW_SILENT;
	/* An agent that was stopped may still read a start that its server gave up. Only a second
	 * answer shows that it has read all of them. */
	if (v->has_answered)
		forget_windows(at);
	return WINDOW_ANSWERED;
}

enum window_visit_result grant_visit_windows(struct grants *g, const struct window_visit *v,
                                             struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct window_inspection *at = ARENA_NEW(&a, struct window_inspection);
	struct sandbox_record r;

	*at = (struct window_inspection){.g = g,
	                                 .arena = &a,
	                                 .rows = v->rows,
	                                 .count = v->count,
	                                 .deadline = deadline_after(v->wait_ms)};
	if (store_sandbox_find(g->options.store, &a, NULL, v->rows->sandbox_id, &r, err) < 0)
		return WINDOW_UNKNOWN;
	if (r.actual == SANDBOX_STARTED)
		return look_inside(at, &r, v, err);
	/* Of a sandbox that has failed it is not known what still runs. */
	if (r.actual == SANDBOX_STOPPED)
		forget_windows(at);
	return WINDOW_ANSWERED;
}
