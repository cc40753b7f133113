/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that ends terminal windows with values of credentials whose consent has ended.
 *
 * A round asks all sandboxes that answered before, with a short deadline, and then a few of the
 * silent ones with a longer one. Many hostile sandboxes delay the others by seconds at most. */
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/log.h"
#include "grant/silence.h"
#include "grant/state.h"
#include "grant/window_visit.h"
#include "store/secret_windows.h"

/* For all short deadlines of a round, as far as each has QUICK_MIN_MS. */
#define QUICK_ALL_MS 3000
#define QUICK_MIN_MS 20
#define QUICK_MAX_MS 500
#define SILENT_MS 1000 /* for a silent sandbox */
#define SILENT_MAX 2   /* in a round */

struct windows_of_sandbox {
	struct window_visit visit;
	struct silence *silence;
	bool is_urgent; /* a consent has ended */
};
struct window_round {
	struct grants *g;
	struct windows_of_sandbox *items;
	size_t count;
};

static bool is_stopping(struct grants *g)
{
	bool stops;

	(void)pthread_mutex_lock(&g->mutex);
	stops = g->is_stopping;
	(void)pthread_mutex_unlock(&g->mutex);
	return stops;
}

static void visit_sandbox(struct grants *g, struct windows_of_sandbox *w, int64_t wait_ms)
{
	bool was_silent = w->silence->misses > 0;
	struct error err = {0};
	enum window_visit_result answer;

	w->visit.wait_ms = wait_ms;
	w->visit.has_answered = w->silence->answers > 0;
	answer = grant_visit_windows(g, &w->visit, &err);
	if (answer == WINDOW_ANSWERED)
		silence_note_answer(w->silence);
	else if (answer == WINDOW_SILENT)
		silence_note_miss(w->silence, clock_monotonic_ms());
	/* The first miss is tried again at once. */
	if (answer == WINDOW_UNKNOWN || (answer == WINDOW_SILENT && was_silent))
		log_warning("windows with credentials could not be looked at",
		            TEXT("sandbox", w->visit.rows->sandbox_id), FAILURE(&err));
}

static void visit_quick_ones(struct window_round *round, bool urgent)
{
	int64_t wait_ms = QUICK_ALL_MS / (int64_t)(round->count + 1);

	if (wait_ms < QUICK_MIN_MS)
		wait_ms = QUICK_MIN_MS;
	if (wait_ms > QUICK_MAX_MS)
		wait_ms = QUICK_MAX_MS;
	for (size_t i = 0; i < round->count && !is_stopping(round->g); i++)
		if (round->items[i].silence->misses == 0 && round->items[i].is_urgent == urgent)
			visit_sandbox(round->g, &round->items[i], wait_ms);
}

static struct windows_of_sandbox *find_turn(struct window_round *round)
{
	struct silence_turn first = {.silence = NULL};
	struct windows_of_sandbox *found = NULL;
	int64_t now = clock_monotonic_ms();

	for (size_t i = 0; i < round->count; i++) {
		struct windows_of_sandbox *w = &round->items[i];
		const struct silence_turn turn = {w->silence, w->is_urgent};

		if (w->silence->misses == 0 || w->silence->next_try > now ||
		    !silence_comes_before(&turn, &first))
			continue;
		first = turn;
		found = w;
	}
	return found;
}

static void visit_silent_ones(struct window_round *round)
{
	struct windows_of_sandbox *w;

	for (int i = 0; i < SILENT_MAX && !is_stopping(round->g) && (w = find_turn(round)); i++)
		visit_sandbox(round->g, w, SILENT_MS);
}

/* The rows are sorted by sandbox. */
static void group_rows(struct window_round *round, const struct secret_window_list *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct secret_window *row = &rows->items[i];
		struct windows_of_sandbox *w = &round->items[round->count - (round->count > 0)];

		if (round->count == 0 || strcmp(w->visit.rows->sandbox_id, row->sandbox_id) != 0) {
			w = &round->items[round->count++];
			w->visit.rows = row;
			w->silence = silence_of(&round->g->silent, row->sandbox_id);
		}
		w->visit.count++;
		w->is_urgent |= !row->holding;
	}
}

static void look_at_windows(struct grants *g)
{
	AUTO(arena_done) struct arena a = {0};
	struct window_round round = {.g = g};
	struct secret_window_list found;
	struct error err = {0};

	if (store_secret_window_list_of_node(g->options.store, &a, g->options.node, clock_unix_ms(),
	                                     &found, &err) < 0) {
		log_warning("windows with credentials could not be listed", FAILURE(&err));
		return;
	}
	round.items = ARENA_ARRAY(&a, struct windows_of_sandbox, found.count + 1);
	group_rows(&round, &found);
	visit_quick_ones(&round, true);
	visit_quick_ones(&round, false);
	visit_silent_ones(&round);
	silence_forget_unlisted(&g->silent);
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
