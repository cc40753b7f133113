/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/text_map.h"
#include "fleet/usage/meters.h"
#include "fleet/usage/meters_state.h"
#include "fleet/usage/usage.h"
#include "json/json.h"
#include "sandbox/events.h"
#include "store/events.h"
#include "store/sandbox_record.h"
#include "store/usage.h"

static const char *window_text(enum budget_window window)
{
	static const char *const texts[] = {
	        [BUDGET_TOTAL] = "in all", [BUDGET_DAY] = "today", [BUDGET_MONTH] = "this month"};

	return texts[window];
}

/* When the next window begins; 0 for a budget without windows. */
static int64_t window_end(enum budget_window window, int64_t now)
{
	int64_t start = budget_window_start(window, now);

	if (window == BUDGET_TOTAL)
		return 0;
	return budget_window_start(window, start + (window == BUDGET_DAY ? 1 : 32) * USAGE_DAY_MS);
}

#define SUBJECT_KEY_SIZE (BUDGET_SUBJECT_MAX + 128)

static bool subject_key(char out[SUBJECT_KEY_SIZE], const struct budget_record *b)
{
	int size = snprintf(out, SUBJECT_KEY_SIZE, "%s/%s/%s", budget_scope_name(b->scope),
	                    b->project_id, b->subject);

	return size > 0 && size < SUBJECT_KEY_SIZE;
}

/* The budget that begins anew later refuses longer; of two such the smaller one speaks. */
static struct budget_record *choose_tighter(struct budget_record *a, struct budget_record *b,
                                            int64_t now)
{
	int64_t a_end, b_end;

	if (!a || !b)
		return a ? a : b;
	a_end = a->span == BUDGET_TOTAL ? INT64_MAX : window_end(a->span, now);
	b_end = b->span == BUDGET_TOTAL ? INT64_MAX : window_end(b->span, now);
	if (a_end != b_end)
		return a_end > b_end ? a : b;
	return a->limit_micro <= b->limit_micro ? a : b;
}

static struct budget_record *find_spent(struct meters *m, const char *project_id,
                                        enum budget_scope scope, const char *subject)
{
	const struct budget_record wanted = {
	        .project_id = project_id, .scope = scope, .subject = subject};
	char key[SUBJECT_KEY_SIZE];
	struct budget_record *r;

	if (!project_id || !subject || !subject[0] || !subject_key(key, &wanted))
		return NULL;
	r = map_find(&m->spent, key);
	/* The window of the budget may have ended. */
	return r && budget_spent(r, clock_unix_ms()) >= r->limit_micro ? r : NULL;
}

static struct budget_record *find_spent_label(struct meters *m, const char *project_id,
                                              const struct json_map *labels, int64_t now)
{
	struct budget_record *found = NULL;
	char subject[BUDGET_SUBJECT_MAX + 1];

	for (size_t i = 0; labels && i < labels->count; i++) {
		const struct json_pair *label = &labels->pairs[i];

		if (strchr(label->key, '='))
			continue;
		(void)snprintf(subject, sizeof(subject), "%s=%s", label->key, label->value);
		found = choose_tighter(found, find_spent(m, project_id, BUDGET_LABEL, subject),
		                       now);
	}
	return found;
}

static struct budget_record *find_spent_row_label(struct meters *m, const struct spender *spender,
                                                  int64_t now)
{
	AUTO(arena_done) struct arena arena = {0};
	struct json_map labels;
	struct error err = {0};

	if (!spender->labels_json)
		return NULL;
	if (text_map_of_json(&arena, spender->labels_json, &labels, &err) == 0)
		return find_spent_label(m, spender->project_id, &labels, now);
	log_warning("labels are not read for budgets", TEXT("sandbox", spender->sandbox_id),
	            FAILURE(&err));
	return NULL;
}

static struct budget_record *find_tightest(struct meters *m, const struct spender *spender)
{
	const char *const subjects[BUDGET_SCOPE_COUNT] = {
	        [BUDGET_PROJECT] = spender->project_id,        [BUDGET_KEY] = spender->key_id,
	        [BUDGET_SANDBOX] = spender->sandbox_id,        [BUDGET_RUN] = spender->run,
	        [BUDGET_CONVERSATION] = spender->conversation,
	};
	int64_t now = clock_unix_ms();
	struct budget_record *found = find_spent_row_label(m, spender, now);

	for (unsigned i = 0; i < COUNT_OF(spender->labels); i++)
		found = choose_tighter(
		        found, find_spent_label(m, spender->project_id, spender->labels[i], now),
		        now);
	for (unsigned scope = 0; scope < BUDGET_SCOPE_COUNT; scope++)
		found = choose_tighter(found,
		                       find_spent(m, spender->project_id, (enum budget_scope)scope,
		                                  subjects[scope]),
		                       now);
	return found;
}

static void refuse_spent(const struct budget_record *r, struct error *err)
{
	AUTO(buf_done) struct buf spent = BUF(32);
	AUTO(buf_done) struct buf limit = BUF(32);
	int64_t now = clock_unix_ms(), end = window_end(r->span, now);

	money_write(&spent, r->spent_micro);
	money_write(&limit, r->limit_micro);
	error_set(err, ERROR_BUDGET, 0, HERE,
	          "budget '%s' of %s '%s' is spent: %s of %s US dollars %s", r->id,
	          budget_scope_name(r->scope), r->subject, buf_text(&spent), buf_text(&limit),
	          window_text(r->span));
	err->quota = (struct error_quota){.name = "budget",
	                                  .limit = money_to_usd(r->limit_micro),
	                                  .used = money_to_usd(r->spent_micro),
	                                  .reset_at = end};
	(void)snprintf(err->quota.scope, sizeof(err->quota.scope), "%s",
	               budget_scope_name(r->scope));
	if (end > now)
		err->retry_after_s = (int)((end - now) / 1000) + 1;
	error_hint(err, r->span == BUDGET_TOTAL ? "set a higher one and delete this one"
	                                        : "wait until it begins anew, or set a higher one");
}

struct spender spender_of_row(const struct sandbox_record *r)
{
	return (struct spender){.project_id = r->project_id,
	                        .key_id = r->key_id,
	                        .sandbox_id = r->id,
	                        .labels_json = r->labels_json};
}

int budgets_check(struct fleet *f, const struct spender *spender, struct error *err)
{
	struct meters *m = f->meters;
	const struct budget_record *r;

	if (!atomic_load(&m->has_spent))
		return 0;
	pthread_mutex_lock(&m->mutex);
	r = find_tightest(m, spender);
	if (r) {
		refuse_spent(r, err);
		atomic_fetch_add_explicit(&m->refusals[r->scope], 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&m->mutex);
	return r ? -1 : 0;
}

void budgets_write_metrics(const struct fleet *f, struct buf *out)
{
	static const char name[] = "atoll_budget_refusals_total";
	static const char cut[] = "atoll_quota_cut_sandboxes";

	buf_addf(out,
	         "# HELP %s Calls, creates and starts refused by a budget.\n# TYPE %s counter\n",
	         name, name);
	for (unsigned i = 0; i < BUDGET_SCOPE_COUNT; i++)
		buf_addf(out, "%s{scope=\"%s\"} %" PRIu64 "\n", name,
		         budget_scope_name((enum budget_scope)i),
		         (uint64_t)atomic_load_explicit(&f->meters->refusals[i],
		                                        memory_order_relaxed));
	buf_addf(out,
	         "# HELP %s Sandboxes without a network, because a quota is used up.\n"
	         "# TYPE %s gauge\n%s %" PRIu64 "\n",
	         cut, cut, cut, (uint64_t)atomic_load(&f->meters->cut_count));
}

/* One server records each level once per window. */
static int record_level(struct fleet *f, const struct budget_record *b, enum budget_level level,
                        struct error *err)
{
	static const enum event_kind event_kinds[] = {
	        [BUDGET_WARNED] = EVENT_BUDGET_WARNED, [BUDGET_EXCEEDED] = EVENT_BUDGET_EXCEEDED};
	AUTO(buf_done) struct buf text = BUF(256);
	struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = b->project_id,
	        .sandbox_id = b->scope == BUDGET_SANDBOX ? b->subject : "",
	        .kind = event_kind_name(event_kinds[level]),
	        .reason = "",
	};
	const struct budget_notification telling = {b->id, b->window_at, level, &event};
	bool is_first;

	buf_addf(&text, "budget '%s' of %s '%.64s': ", b->id, budget_scope_name(b->scope),
	         b->subject);
	money_write(&text, b->spent_micro);
	buf_add_text(&text, " of ");
	money_write(&text, b->limit_micro);
	buf_addf(&text, " US dollars are spent %s", window_text(b->span));
	event.text = buf_text(&text);
	if (store_budget_notify(f->store, &telling, &is_first, err) < 0)
		return -1;
	fault_point("usage", "warned");
	if (is_first)
		log_warning(level == BUDGET_EXCEEDED ? "a budget is spent"
		                                     : "a budget comes to its end",
		            TEXT("budget", b->id), TEXT("project", b->project_id),
		            TEXT("scope", budget_scope_name(b->scope)), TEXT("subject", b->subject),
		            TEXT("text", event.text));
	return 0;
}

static int record_levels(struct fleet *f, const struct budget_list *list, struct error *err)
{
	int64_t now = clock_unix_ms();

	for (size_t i = 0; i < list->count; i++) {
		const struct budget_record *b = &list->items[i];
		enum budget_level level =
		        budget_level(b->limit_micro, b->warn_percent, budget_spent(b, now));

		if (level != BUDGET_FINE && b->warned_at != b->window_at &&
		    record_level(f, b, BUDGET_WARNED, err) < 0)
			return -1;
		if (level == BUDGET_EXCEEDED && b->exceeded_at != b->window_at &&
		    record_level(f, b, BUDGET_EXCEEDED, err) < 0)
			return -1;
	}
	return 0;
}

static void keep_spent(struct meters *m, const struct budget_list *list, int64_t now)
{
	char key[SUBJECT_KEY_SIZE];

	for (size_t i = 0; i < list->count; i++) {
		struct budget_record *b = &list->items[i];

		if (budget_spent(b, now) < b->limit_micro || !subject_key(key, b))
			continue;
		map_put(&m->spent, key, choose_tighter(map_find(&m->spent, key), b, now));
	}
}

int budgets_refresh(struct fleet *f, struct error *err)
{
	struct meters *m = f->meters;
	int64_t now = clock_unix_ms();
	struct arena fresh = {0}, old;
	struct budget_list list;

	if (store_budget_list(f->store, &fresh, NULL, &list, err) < 0 ||
	    record_levels(f, &list, err) < 0) {
		arena_done(&fresh);
		return -1;
	}
	pthread_mutex_lock(&m->mutex);
	old = m->arena;
	m->arena = fresh;
	map_done(&m->spent);
	m->spent = (struct map){0};
	keep_spent(m, &list, now);
	atomic_store(&m->has_spent, m->spent.count > 0);
	pthread_mutex_unlock(&m->mutex);
	arena_done(&old);
	return 0;
}
