/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/id.h"
#include "fleet/core/fleet_state.h"
#include "fleet/usage/meters.h"
#include "fleet/usage/meters_state.h"
#include "fleet/usage/usage.h"
#include "sandbox/events.h"
#include "store/events.h"
#include "store/keys.h"
#include "store/sandboxes.h"
#include "store/usage.h"

#define SUBJECT_KEY_SIZE 160

static bool subject_key(char out[SUBJECT_KEY_SIZE], enum budget_scope scope, const char *subject)
{
	int size = snprintf(out, SUBJECT_KEY_SIZE, "%s/%s", budget_scope_name(scope), subject);

	return size > 0 && size < SUBJECT_KEY_SIZE;
}

static const struct budget_record *find_spent(struct meters *m, enum budget_scope scope,
                                              const char *subject)
{
	char key[SUBJECT_KEY_SIZE];
	const struct budget_record *r;

	if (!subject || !subject[0] || !subject_key(key, scope, subject))
		return NULL;
	r = map_find(&m->spent, key);
	/* The window of the budget may have ended. */
	return r && budget_spent(r, clock_unix_ms()) >= r->limit_micro ? r : NULL;
}

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

int budgets_check(struct fleet *f, const struct spender *spender, struct error *err)
{
	struct meters *m = f->meters;
	const struct budget_record *r;

	if (!atomic_load(&m->has_spent))
		return 0;
	pthread_mutex_lock(&m->mutex);
	r = find_spent(m, BUDGET_PROJECT, spender->project_id);
	if (!r)
		r = find_spent(m, BUDGET_KEY, spender->key_id);
	if (!r)
		r = find_spent(m, BUDGET_SANDBOX, spender->sandbox_id);
	if (r)
		refuse_spent(r, err);
	pthread_mutex_unlock(&m->mutex);
	return r ? -1 : 0;
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

	buf_addf(&text, "budget '%s': ", b->id);
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

		if (budget_spent(b, now) >= b->limit_micro &&
		    subject_key(key, b->scope, b->subject))
			map_put(&m->spent, key, b);
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

static int check_key(struct fleet *f, struct arena *a, const struct fleet_budget *request,
                     struct error *err)
{
	struct key_list keys;

	if (store_key_list(f->store, a, request->project_id, &keys, err) < 0)
		return -1;
	for (size_t i = 0; i < keys.count; i++)
		if (strcmp(keys.items[i].id, request->subject) == 0)
			return 0;
	return FAIL_MISSING(err, "key", request->subject);
}

/* The id of the budget's subject. */
static int find_subject(struct fleet *f, struct arena *a, const struct fleet_budget *request,
                        const char **ret, struct error *err)
{
	struct sandbox_record r;

	if (request->scope == BUDGET_PROJECT) {
		if (request->subject && strcmp(request->subject, request->project_id) != 0)
			return FAIL(err, ERROR_INVALID,
			            "a project's budget is about '%s', not '%s'",
			            request->project_id, request->subject);
		*ret = request->project_id;
		return 0;
	}
	if (!request->subject || !request->subject[0])
		return FAIL(err, ERROR_INVALID, "subject: which %s is needed",
		            budget_scope_name(request->scope));
	*ret = request->subject;
	if (request->scope == BUDGET_KEY)
		return check_key(f, a, request, err);
	if (store_sandbox_find(f->store, a, request->project_id, request->subject, &r, err) < 0)
		return -1;
	*ret = r.id;
	return 0;
}

static int find_budget(struct fleet *f, struct arena *a, const char *project_id, const char *id,
                       struct budget_record *ret, struct error *err)
{
	struct budget_list list;

	if (store_budget_list(f->store, a, project_id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		if (strcmp(list.items[i].id, id) != 0)
			continue;
		*ret = list.items[i];
		return 0;
	}
	return FAIL_MISSING(err, "budget", id);
}

int fleet_budget_create(struct fleet *fleet, struct arena *a, const struct fleet_budget *request,
                        struct budget_record *ret, struct error *err)
{
	struct id id = id_new();
	int64_t now = clock_unix_ms();
	struct budget_record r = {
	        .id = arena_text(a, id.text),
	        .project_id = request->project_id,
	        .scope = request->scope,
	        .span = request->window,
	        .limit_micro = request->limit_micro,
	        .warn_percent = request->warn_percent,
	        .window_at = budget_window_start(request->window, now),
	        .warned_at = -1,
	        .exceeded_at = -1,
	        .created_at = now,
	};

	if (find_subject(fleet, a, request, &r.subject, err) < 0 ||
	    store_budget_insert(fleet->store, &r, FLEET_BUDGETS_MAX, err) < 0 ||
	    budgets_refresh(fleet, err) < 0)
		return -1;
	/* Read again: earlier spending counts already. */
	return find_budget(fleet, a, request->project_id, r.id, ret, err);
}

int fleet_budget_update(struct fleet *fleet, struct arena *a, const char *id,
                        const struct fleet_budget *request, struct budget_record *ret,
                        struct error *err)
{
	struct budget_record r;

	if (find_budget(fleet, a, request->project_id, id, &r, err) < 0)
		return -1;
	if (request->limit_micro > 0)
		r.limit_micro = request->limit_micro;
	if (request->warn_percent >= 0)
		r.warn_percent = request->warn_percent;
	if (store_budget_update(fleet->store, a, &r, err) < 0 || budgets_refresh(fleet, err) < 0)
		return -1;
	return find_budget(fleet, a, request->project_id, id, ret, err);
}

int fleet_budget_remove(struct fleet *fleet, const char *project_id, const char *id,
                        struct error *err)
{
	if (store_budget_remove(fleet->store, project_id, id, err) < 0)
		return -1;
	return budgets_refresh(fleet, err);
}
