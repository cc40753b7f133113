/* SPDX-License-Identifier: Apache-2.0 */
/* pull "always": asks the registry whether a tag has another image by now. The new image becomes
 * a template of its own, the successor, which takes the name when it is ready: until then, and
 * when the pull fails, creates find the old one. */
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/template_waiters.h"
#include "fleet/core/waiting.h"
#include "fleet/template/image_parts.h"
#include "fleet/template/templates.h"
#include "image/image.h"
#include "store/templates.h"

/* No template of a user can have such a name. */
#define SUCCESSOR_END "+next"
/* Interval at which a call looks for a pull of another server. */
#define LOOK_MS 1000
#define FIND_TRIES 8

bool image_is_successor(const struct template_record *t)
{
	size_t size = strlen(t->name), end = strlen(SUCCESSOR_END);

	return t->is_pulled && size > end && strcmp(t->name + size - end, SUCCESSOR_END) == 0;
}

static const char *name_before(struct arena *a, const struct template_record *successor)
{
	size_t size = strlen(successor->name) - strlen(SUCCESSOR_END);

	return arena_copy(a, (struct span){successor->name, size});
}

static void refresh_key(struct arena *a, const struct template_record *old,
                        char ret[ERROR_AWAITS_MAX])
{
	awaited_key("image", arena_format(a, "%s/%s", old->project_id, old->name), ret);
}

static void announce_end(struct fleet *f, struct arena *a, const struct template_record *successor)
{
	const struct template_record old = {.project_id = successor->project_id,
	                                    .name = name_before(a, successor)};
	char key[ERROR_AWAITS_MAX];

	templates_changed(f);
	awaited_announce(f, successor->id);
	template_waiters_wake(f, successor->id);
	refresh_key(a, &old, key);
	awaited_announce(f, key);
}

const char *image_known_digest(struct fleet *f, struct arena *a,
                               const struct template_record *successor)
{
	const char *folder = templates_dir(f, a);
	struct image_config config;
	struct template_record old;
	struct error ignored = {0};

	if (store_template_find(f->store, a, successor->project_id, name_before(a, successor), &old,
	                        &ignored) < 0 ||
	    old.state != TEMPLATE_READY ||
	    image_config_load(a, folder, old.folder, &config, &ignored) < 0)
		return "";
	return config.digest;
}

int image_keep_old(struct fleet *f, struct arena *a, const struct template_record *successor,
                   struct error *err)
{
	int result = store_template_remove(f->store, successor->project_id, successor->id, err);

	announce_end(f, a, successor);
	return result;
}

int image_take_name(struct fleet *f, struct arena *a, struct template_record *successor,
                    struct error *err)
{
	const char *name = name_before(a, successor);
	const struct template_succession succession = {
	        .project_id = successor->project_id,
	        .id = successor->id,
	        .name = name,
	        .now = clock_unix_ms(),
	};

	if (store_template_succeed(f->store, &succession, err) < 0)
		return FAIL_CONTEXT(err, "image '%.200s'", successor->base_image);
	log_info("image is replaced by a newer one", TEXT("template", name),
	         TEXT("image", successor->base_image));
	announce_end(f, a, successor);
	successor->name = name;
	return 0;
}

static int check_refreshable(const struct template_record *old, struct error *err)
{
	if (old->is_pulled)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "template '%s' was imported or has settings of its own: a pull would lose them",
	           old->name);
	return FAIL_HINT(err, "remove the template to pull the image anew, or ask without pull");
}

/* 1: found; 0: there is none. */
static int find_successor(struct fleet *f, struct arena *a, const struct template_record *old,
                          struct template_record *ret, struct error *err)
{
	const char *name = arena_format(a, "%s" SUCCESSOR_END, old->name);

	if (store_template_find(f->store, a, old->project_id, name, ret, err) == 0)
		return 1;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int make_successor(struct fleet *f, struct arena *a, const struct template_record *old,
                          struct template_record *ret, struct error *err)
{
	const struct fleet_image image = {.project_id = old->project_id,
	                                  .reference = old->base_image};
	const char *name = arena_format(a, "%s" SUCCESSOR_END, old->name);

	for (unsigned i = 1;; i++) {
		int found = find_successor(f, a, old, ret, err);

		if (found != 0)
			return found < 0 ? -1 : 0;
		if (image_insert_pulled(f, &image, name, err) == 0)
			continue;
		if (err->code != ERROR_CONFLICT || i == FIND_TRIES)
			return -1;
		error_clear(err);
	}
}

/* A call that does not wait. 1: the registry was asked; -1 with an error that awaits it. */
static int require_refresh(struct fleet *f, struct arena *a, const struct template_record *old,
                           const struct fleet_awaited *awaited, struct error *err)
{
	struct template_record successor;
	char key[ERROR_AWAITS_MAX];
	bool has_waited;
	int found;

	refresh_key(a, old, key);
	has_waited = awaited->key && strcmp(awaited->key, key) == 0;
	found = has_waited ? find_successor(f, a, old, &successor, err)
	                   : make_successor(f, a, old, &successor, err);
	if (found < 0)
		return -1;
	if (has_waited && found == 0)
		return 1;
	const struct fleet_awaited pull = {.key = successor.id};
	const struct template_need need = {old->project_id, has_waited ? &pull : NULL};
	if (fleet_template_require(f, a, &successor, &need, err) == 0)
		return image_take_name(f, a, &successor, err) < 0 ? -1 : 1;
	if (err->awaits.key[0])
		error_await(err, key, LOOK_MS, err->awaits.percent);
	return -1;
}

/* Waits for the answer of the registry, and for the pull if the image is another one. */
static int wait_for_refresh(struct fleet *f, struct arena *a, const struct template_record *old,
                            int64_t deadline, struct error *err)
{
	struct error second = {0};
	struct template_record successor;
	int found;

	if (make_successor(f, a, old, &successor, err) < 0)
		return -1;
	if (fleet_template_ready(f, a, &successor, deadline, err) == 0)
		return image_is_successor(&successor) && successor.state == TEMPLATE_READY
		               ? image_take_name(f, a, &successor, err)
		               : 0;
	/* Another thread has removed it, because the image was the same. */
	found = err->code == ERROR_NOT_FOUND ? find_successor(f, a, old, &successor, &second) : 1;
	if (found != 0)
		return -1;
	error_clear(err);
	return 0;
}

int fleet_image_refresh(struct fleet *fleet, struct arena *a, const struct fleet_refresh *refresh,
                        struct template_record *t, struct error *err)
{
	const struct fleet_ref ref = {t->project_id, t->name};

	/* What is not ready gets pulled anyway. */
	if (t->state != TEMPLATE_READY)
		return 0;
	if (check_refreshable(t, err) < 0)
		return -1;
	if ((refresh->awaited ? require_refresh(fleet, a, t, refresh->awaited, err)
	                      : wait_for_refresh(fleet, a, t, refresh->deadline, err)) < 0)
		return -1;
	return template_find(fleet, a, &ref, t, err);
}
