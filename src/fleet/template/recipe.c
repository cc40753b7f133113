/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/template/recipe.h"

#include <string.h>

#include "base/path.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/text_map.h"
#include "fleet/template/pool_states.h"
#include "fleet/template/templates.h"
#include "fleet/template/warm_parts.h"
#include "image/image.h"
#include "json/write.h"
#include "provider/provider.h"
#include "sandbox/isolation.h"
#include "sandbox/timeouts.h"

#define RUNTIME_MAX 64
#define DESCRIPTION_MAX 1000
#define USER_MAX 64
#define WORKDIR_MAX 1024
#define PORTS_MAX 64
#define PORT_MAX 65535
#define ENTRYPOINT_COUNT_MAX 64
#define ENTRYPOINT_BYTES_MAX (16 * 1024)
#define LIST_TEXT_MAX (256 * 1024)

/* Printable ASCII without spaces; "" says nothing and is fine. */
static int check_word(const char *what, const char *word, size_t size_max, struct error *err)
{
	if (!word)
		return 0;
	if (strlen(word) > size_max)
		return FAIL(err, ERROR_INVALID, "%s: at most %zu bytes", what, size_max);
	for (const char *c = word; *c; c++)
		if (*c <= ' ' || *c > '~')
			return FAIL(err, ERROR_INVALID, "%s: printable characters without spaces",
			            what);
	return 0;
}

static int check_workdir(const char *workdir, struct error *err)
{
	const char *ignored;
	AUTO(arena_done) struct arena arena = {0};

	if (!workdir || !*workdir)
		return 0;
	if (workdir[0] != '/' || strlen(workdir) > WORKDIR_MAX)
		return FAIL(err, ERROR_INVALID, "workdir: an absolute path of at most %d bytes",
		            WORKDIR_MAX);
	if (workdir[1] && path_check_relative(&arena, span_of(workdir + 1), &ignored, err) < 0)
		return FAIL_CONTEXT(err, "workdir");
	return 0;
}

static int check_ports(const struct fleet_recipe *recipe, struct error *err)
{
	if (recipe->port_count > PORTS_MAX)
		return FAIL(err, ERROR_LIMIT, "ports: at most %d", PORTS_MAX);
	for (size_t i = 0; i < recipe->port_count; i++)
		if (recipe->ports[i] < 1 || recipe->ports[i] > PORT_MAX)
			return FAIL(err, ERROR_INVALID, "ports[%zu]: a whole number from 1 to %d",
			            i, PORT_MAX);
	return 0;
}

static int check_entrypoint(const char *const *words, struct error *err)
{
	size_t count = 0, bytes = 0;

	for (; words && words[count]; count++)
		bytes += strlen(words[count]) + 1;
	if (count > ENTRYPOINT_COUNT_MAX || bytes > ENTRYPOINT_BYTES_MAX)
		return FAIL(err, ERROR_LIMIT, "entrypoint: at most %d words and %d bytes",
		            ENTRYPOINT_COUNT_MAX, ENTRYPOINT_BYTES_MAX);
	if (count > 0 && !words[0][0])
		return FAIL(err, ERROR_INVALID, "entrypoint[0]: the program has no name");
	return 0;
}

int fleet_recipe_check(const struct fleet *fleet, const struct fleet_recipe *recipe,
                       struct error *err)
{
	if (recipe->description && strlen(recipe->description) > DESCRIPTION_MAX)
		return FAIL(err, ERROR_INVALID, "description: at most %d bytes", DESCRIPTION_MAX);
	if (check_word("runtime", recipe->runtime, RUNTIME_MAX, err) < 0 ||
	    check_word("user", recipe->user, USER_MAX, err) < 0 ||
	    check_workdir(recipe->workdir, err) < 0 ||
	    (text_or_null(recipe->isolation) && isolation_check(recipe->isolation, err) < 0) ||
	    check_ports(recipe, err) < 0 || check_entrypoint(recipe->entrypoint, err) < 0 ||
	    warm_check(fleet, recipe, err) < 0 || environment_check(&recipe->env, err) < 0)
		return -1;
	if (recipe->resources && sandbox_resources_check(recipe->resources, err) < 0)
		return FAIL_CONTEXT(err, "resources");
	if (recipe->timeouts) {
		struct sandbox_timeouts timeouts = {0};

		sandbox_timeouts_change(&timeouts, recipe->timeouts);
		if (sandbox_timeouts_check(&timeouts, err) < 0)
			return FAIL_CONTEXT(err, "idle");
	}
	return 0;
}

static const char *ports_to_json(struct arena *a, const struct fleet_recipe *recipe)
{
	AUTO(buf_done) struct buf text = BUF(LIST_TEXT_MAX);

	json_begin_list(&text, NULL);
	for (size_t i = 0; i < recipe->port_count; i++)
		json_add_whole(&text, NULL, recipe->ports[i]);
	json_end_list(&text);
	return arena_copy(a, buf_span(&text));
}

static void set_text(const char **member, const char *given)
{
	if (given)
		*member = given;
}

void recipe_apply(struct arena *a, const struct fleet_recipe *recipe, struct template_record *t)
{
	set_text(&t->description, recipe->description);
	set_text(&t->runtime, recipe->runtime);
	set_text(&t->isolation, recipe->isolation);
	set_text(&t->provider, recipe->provider);
	set_text(&t->user, recipe->user);
	set_text(&t->workdir, recipe->workdir);
	if (recipe->env.present)
		t->env_json = json_format_map(a, &recipe->env);
	if (recipe->entrypoint)
		t->entrypoint_json = json_format_texts(a, recipe->entrypoint);
	if (recipe->ports)
		t->ports_json = ports_to_json(a, recipe);
	if (recipe->warm)
		t->warm_json = warm_to_json(a, recipe->warm);
	if (recipe->resources)
		t->resources = *recipe->resources;
	if (recipe->timeouts)
		sandbox_timeouts_change(&t->timeouts, recipe->timeouts);
	if (recipe->visibility != RECIPE_AS_IT_IS)
		t->is_public = recipe->visibility == RECIPE_PUBLIC;
	if (recipe->pool) {
		t->pool_min = recipe->pool->min;
		t->pool_target = recipe->pool->target;
		t->pool_max = recipe->pool->max;
	}
}

int fleet_template_change(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          const struct fleet_recipe *recipe, struct template_record *ret,
                          struct error *err)
{
	struct template_record t;

	if (fleet_recipe_check(fleet, recipe, err) < 0 ||
	    store_template_find(fleet->store, a, ref->project_id, ref->id_or_name, &t, err) < 0)
		return -1;
	if (ref->project_id && strcmp(ref->project_id, t.project_id) != 0)
		return FAIL(err, ERROR_FORBIDDEN,
		            "template '%s' belongs to another project or to all of them", t.name);
	/* The settings of its image would replace the change. */
	if (t.state == TEMPLATE_BUILDING)
		return FAIL(err, ERROR_CONFLICT, "template '%s' is being built", t.name);
	if (t.is_pulled && t.state != TEMPLATE_READY)
		return FAIL(err, ERROR_CONFLICT, "image '%.200s' is not pulled yet", t.base_image);
	recipe_apply(a, recipe, &t);
	/* Somebody's own settings do not vanish with a cache. */
	t.is_pulled = false;
	t.updated_at = clock_unix_ms();
	if (store_template_update(fleet->store, &t, err) < 0)
		return -1;
	templates_changed(fleet);
	pools_changed(fleet);
	*ret = t;
	return 0;
}

int fleet_template_derive(struct fleet *fleet, struct arena *a, const struct fleet_derive *request,
                          struct template_record *ret, struct error *err)
{
	struct id id = id_new();
	struct template_record source, t;

	if (image_name_check(request->name, err) < 0 ||
	    fleet_recipe_check(fleet, request->recipe, err) < 0 ||
	    store_template_find(fleet->store, a, request->project_id, request->from, &source, err) <
	            0 ||
	    fleet_template_ready(fleet, a, &source, deadline_after(TEMPLATE_TIMEOUT_MS), err) < 0)
		return -1;
	t = source;
	t.id = arena_text(a, id.text);
	t.project_id = request->project_id;
	t.name = request->name;
	t.description = "";
	t.base_image = source.name;
	t.pool_min = t.pool_target = t.pool_max = 0;
	t.is_public = t.is_pulled = false;
	t.created_at = t.updated_at = clock_unix_ms();
	recipe_apply(a, request->recipe, &t);
	if (store_template_insert(fleet->store, &t, err) < 0)
		return -1;
	templates_changed(fleet);
	pools_changed(fleet);
	*ret = t;
	/* A remover that did not see the new row removes its own row first, then the folder. So the
	 * folder exists if that row is found here. The same applies to a layer that a build has
	 * replaced. */
	if (store_template_find(fleet->store, a, source.project_id, source.id, &source, err) == 0) {
		if (strcmp(source.snapshot_id, t.snapshot_id) == 0)
			return 0;
		(void)FAIL(err, ERROR_CONFLICT, "template '%s' was built anew just now",
		           source.name);
	}
	(void)!fleet_template_remove(fleet, t.project_id, t.id, &(struct error){0});
	return -1;
}
