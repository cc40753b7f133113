/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets are made, changed and deleted. */
#include <string.h>

#include "base/id.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/labels.h"
#include "fleet/usage/meters.h"
#include "fleet/usage/usage.h"
#include "json/json.h"
#include "sandbox/usage_reason.h"
#include "store/keys.h"
#include "store/sandboxes.h"
#include "store/usage.h"

/* How each scope names its subject; *ret is what the usage log has. */
typedef int subject_finder(struct fleet *f, struct arena *a, const struct fleet_budget *request,
                           const char **ret, struct error *err);

static int find_project(UNUSED struct fleet *f, UNUSED struct arena *a,
                        const struct fleet_budget *request, const char **ret, struct error *err)
{
	if (request->subject && strcmp(request->subject, request->project_id) != 0) {
		(void)FAIL(err, ERROR_INVALID, "a project's budget is about '%s', not '%s'",
		           request->project_id, request->subject);
		return FAIL_HINT(err, "scope says what the subject is");
	}
	*ret = request->project_id;
	return 0;
}

static int find_key(struct fleet *f, struct arena *a, const struct fleet_budget *request,
                    const char **ret, struct error *err)
{
	struct key_list keys;

	if (store_key_list(f->store, a, request->project_id, &keys, err) < 0)
		return -1;
	*ret = request->subject;
	for (size_t i = 0; i < keys.count; i++)
		if (strcmp(keys.items[i].id, request->subject) == 0)
			return 0;
	return FAIL_MISSING(err, "key", request->subject);
}

static int find_sandbox(struct fleet *f, struct arena *a, const struct fleet_budget *request,
                        const char **ret, struct error *err)
{
	struct sandbox_record r;

	if (store_sandbox_find(f->store, a, request->project_id, request->subject, &r, err) < 0)
		return -1;
	*ret = r.id;
	return 0;
}

static int find_run(UNUSED struct fleet *f, UNUSED struct arena *a,
                    const struct fleet_budget *request, const char **ret, struct error *err)
{
	*ret = request->subject;
	return usage_run_check(request->subject, err);
}

/* No sandbox needs to have it yet. */
static int find_label(UNUSED struct fleet *f, struct arena *a, const struct fleet_budget *request,
                      const char **ret, struct error *err)
{
	const char *equals = strchr(request->subject, '=');
	struct json_pair pair;

	if (!equals) {
		(void)FAIL(err, ERROR_INVALID, "subject: '%.64s' is no NAME=VALUE",
		           request->subject);
		return FAIL_HINT(err, "such as team=search");
	}
	pair.key =
	        arena_copy(a, (struct span){request->subject, (size_t)(equals - request->subject)});
	pair.value = equals + 1;
	*ret = request->subject;
	return labels_check_one(&pair, err);
}

static int find_conversation(UNUSED struct fleet *f, UNUSED struct arena *a,
                             const struct fleet_budget *request, const char **ret,
                             struct error *err)
{
	*ret = request->subject;
	return usage_conversation_check(request->subject, err);
}

static int find_subject(struct fleet *f, struct arena *a, const struct fleet_budget *request,
                        const char **ret, struct error *err)
{
	static subject_finder *const finders[BUDGET_SCOPE_COUNT] = {
	        [BUDGET_PROJECT] = find_project, [BUDGET_KEY] = find_key,
	        [BUDGET_SANDBOX] = find_sandbox, [BUDGET_RUN] = find_run,
	        [BUDGET_LABEL] = find_label,     [BUDGET_CONVERSATION] = find_conversation,
	};

	if (request->scope != BUDGET_PROJECT && (!request->subject || !request->subject[0]))
		return FAIL(err, ERROR_INVALID, "subject: which %s is needed",
		            budget_scope_name(request->scope));
	return finders[request->scope](f, a, request, ret, err);
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
