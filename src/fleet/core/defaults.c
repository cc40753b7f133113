/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/defaults.h"

#include <string.h>

#include "fleet/core/cache.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/labels.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/template_cache.h"
#include "json/json.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "store/secrets.h"

/* "KEY=value" texts; a later one of the same key replaces the earlier. */
struct environment_list {
	struct arena *arena;
	const char **items; /* room for all that may come, and the NULL */
	size_t count;
};

static void put_variable(struct environment_list *e, const char *key, const char *value)
{
	const char *item = arena_format(e->arena, "%s=%s", key, value);
	size_t size = strlen(key) + 1;

	for (size_t i = 0; i < e->count; i++) {
		if (strncmp(e->items[i], item, size) == 0) {
			e->items[i] = item;
			return;
		}
	}
	e->items[e->count++] = item;
}

static void put_variables(struct environment_list *e, const struct json_value *object)
{
	size_t count = json_count(object);

	for (size_t i = 0; i < count; i++) {
		const char *key = NULL;
		const char *value = json_text(json_member_at(object, i, &key), NULL);

		if (key && value)
			put_variable(e, key, value);
	}
}

int defaults_compute(const struct fleet *f, struct arena *a, const struct sandbox_record *r,
                     const struct template_record *t, struct fleet_defaults *ret, struct error *err)
{
	/* A provider that shares the host's files and users ignores those of the template: the
	 * folder is home and project, and the agent knows its path. A function has a user and a
	 * folder of its own. */
	const struct provider *p = sandbox_provider(f, r);
	bool is_own = p && (provider_ops_of(p)->abilities & PROVIDER_CAN_ISOLATE) != 0;
	bool has_files = is_own && !provider_ops_of(p)->is_for_calls;
	const char *user = has_files ? t->user : "", *workdir = has_files ? t->workdir : "";
	const struct json_value *of_template, *of_row;
	const char *workspace = labels_text_of_row(a, r->labels_json, SANDBOX_WORKSPACE_LABEL);
	struct environment_list e = {.arena = a};

	if (workspace && is_own)
		workdir = workspace;
	/* Without its environment a command would behave differently. */
	if (store_secret_check(r->env_json, err) < 0 || store_secret_check(t->env_json, err) < 0 ||
	    json_load(a, span_of(t->env_json), &of_template, err) < 0 ||
	    json_load(a, span_of(r->env_json), &of_row, err) < 0)
		return FAIL_CONTEXT(err, "environment of sandbox '%s'", r->name);
	e.items = ARENA_ARRAY(a, const char *, json_count(of_template) + json_count(of_row) + 2);
	if (*workdir)
		put_variable(&e, "ATOLL_PROJECT_DIR", workdir);
	put_variables(&e, of_template);
	put_variables(&e, of_row);
	*ret = (struct fleet_defaults){.env = e.items, .user = user, .workdir = workdir};
	return 0;
}

/* Cached once computed: a change of the template applies to later sandboxes. */
static int compute_for_row(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                           struct fleet_defaults *ret, struct error *err)
{
	const struct fleet_ref ref = {r->project_id, r->template_id};
	struct template_record t;

	if (template_find(f, a, &ref, &t, err) < 0)
		return FAIL_CONTEXT(err, "environment of sandbox '%s'", r->name);
	return defaults_compute(f, a, r, &t, ret, err);
}

int fleet_defaults(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                   const struct json_map *extra, struct fleet_defaults *ret, struct error *err)
{
	struct environment_list e = {.arena = a};
	struct fleet_defaults base;

	if (!cache_defaults_get(fleet->cache, a, r->id, &base)) {
		if (compute_for_row(fleet, a, r, &base, err) < 0)
			return -1;
		cache_defaults_put(fleet->cache, r->id, &base);
	}
	*ret = base;
	if (!extra || extra->count == 0)
		return 0;
	while (base.env[e.count])
		e.count++;
	e.items = ARENA_ARRAY(a, const char *, e.count + extra->count + 1);
	memcpy(e.items, base.env, e.count * sizeof(*e.items));
	for (size_t i = 0; i < extra->count; i++) {
		if (sandbox_env_check(extra->pairs[i].key, extra->pairs[i].value, err) < 0)
			return -1;
		put_variable(&e, extra->pairs[i].key, extra->pairs[i].value);
	}
	ret->env = e.items;
	return 0;
}
