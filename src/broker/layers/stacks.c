/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/layers/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/host/options.h"
#include "broker/layers/stack.h"
#include "broker/layers/trash.h"
#include "broker/layers/trash_note.h"

struct layer {
	unsigned uses; /* in layer stacks of users and of kept layers; being kept is one */
	bool is_kept;
	struct layer_stack below;
};

static struct layer *find_or_make_layer(struct layer_stacks *c, const char *id)
{
	struct layer *layer = map_find(&c->layers, id);

	if (layer)
		return layer;
	layer = memory_new(sizeof(*layer));
	(void)map_put(&c->layers, id, layer);
	return layer;
}

/* Removes one use of the layer; without uses it is deleted. */
static void drop_use(struct layer_stacks *c, const char *id)
{
	struct layer *layer = map_find(&c->layers, id);
	struct error err = {0};

	if (!layer || --layer->uses > 0)
		return;
	(void)map_remove(&c->layers, id);
	free(layer);
	if (host_trash(c->host, FOLDER_SNAPSHOTS, id, &err) < 0)
		log_warning("a layer is left until the next start", FAILURE(&err));
}

static void use_stack(struct layer_stacks *c, const struct layer_stack *stack)
{
	for (unsigned i = 0; i < stack->count; i++)
		find_or_make_layer(c, stack->ids[i])->uses++;
}

static void unuse_stack(struct layer_stacks *c, const struct layer_stack *stack)
{
	for (unsigned i = 0; i < stack->count; i++)
		drop_use(c, stack->ids[i]);
}

const struct layer_stack *layer_stacks_of(const struct layer_stacks *c, const char *user)
{
	return map_find(&c->users, user);
}

int layer_stacks_find(const struct layer_stacks *c, const char *snapshot, struct layer_stack *ret,
                      struct error *err)
{
	const struct layer *layer = map_find(&c->layers, snapshot);

	if (!layer || !layer->is_kept)
		return FAIL(err, ERROR_NOT_FOUND, "no snapshot '%s'", snapshot);
	return layer_stack_put(ret, snapshot, &layer->below, err);
}

/* No id contains a dot. */
static void role_name(char out[48], const char *id, enum layer_stack_role role)
{
	static const char *const names[] = {
	        [LAYER_STACK_ORIGIN] = "origin", [LAYER_STACK_MOUNTED] = "mounted",
	        [LAYER_STACK_MERGED] = "merged", [LAYER_STACK_NOW] = "now",
	        [LAYER_STACK_BASE] = "base",     [LAYER_STACK_TRASHED] = "trashed"};

	(void)snprintf(out, 48, "%s.%s", id, names[role]);
}

const struct layer_stack *layer_stacks_of_role(const struct layer_stacks *c, const char *id,
                                               enum layer_stack_role role)
{
	char name[48];

	role_name(name, id, role);
	return layer_stacks_of(c, name);
}

/* The part of the stack from the layer `top` on. */
static bool find_top(const struct layer_stack *stack, const char *top, struct layer_stack *ret)
{
	unsigned first = 0;

	while (stack && first < stack->count && strcmp(stack->ids[first], top) != 0)
		first++;
	if (!stack || first == stack->count)
		return false;
	ret->count = stack->count - first;
	memcpy(ret->ids, stack->ids[first], ret->count * sizeof(ret->ids[0]));
	return true;
}

int layer_stacks_find_origin(const struct layer_stacks *c, const char *user, const char *origin,
                             struct layer_stack *ret, struct error *err)
{
	if (!*origin) {
		ret->count = 0;
		return 0;
	}
	if (find_top(layer_stacks_of(c, user), origin, ret) ||
	    find_top(layer_stacks_of_role(c, user, LAYER_STACK_ORIGIN), origin, ret))
		return 0;
	return layer_stacks_find(c, origin, ret, err);
}

/* Uses the new stack before the old one goes, so that common layers stay. */
void layer_stacks_set(struct layer_stacks *c, const char *user, const struct layer_stack *stack)
{
	struct layer_stack *copy = NULL, *old;

	if (stack && stack->count > 0) {
		copy = memory_new(sizeof(*copy));
		*copy = *stack;
		use_stack(c, copy);
	}
	old = copy ? map_put(&c->users, user, copy) : map_remove(&c->users, user);
	if (old)
		unuse_stack(c, old);
	free(old);
}

void layer_stacks_set_role(struct layer_stacks *c, const char *id, enum layer_stack_role role,
                           const struct layer_stack *stack)
{
	char name[48];

	role_name(name, id, role);
	layer_stacks_set(c, name, stack);
}

static bool is_kept_snapshot(const struct host *host, const char *id)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/" KEPT_LINK, id);
	return faccessat(host->folders[FOLDER_SNAPSHOTS], path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int layer_stacks_add(struct layer_stacks *c, const char *snapshot, struct error *err)
{
	struct layer_stack below;
	struct layer *layer;
	char path[64];

	if (!is_kept_snapshot(c->host, snapshot))
		return FAIL(err, ERROR_NOT_FOUND, "snapshot '%s' is not whole", snapshot);
	(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, snapshot);
	if (layer_stack_read(c->host->folders[FOLDER_SNAPSHOTS], path, &below, err) < 0)
		return -1;
	layer = find_or_make_layer(c, snapshot);
	if (layer->is_kept)
		return 0;
	layer->is_kept = true;
	layer->uses++;
	layer->below = below;
	use_stack(c, &below);
	return 0;
}

int layer_stacks_remove(struct layer_stacks *c, const char *snapshot, struct error *err)
{
	struct layer *layer = map_find(&c->layers, snapshot);
	struct layer_stack below;
	char path[64];

	if (!layer || !layer->is_kept)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/" KEPT_LINK, snapshot);
	if (unlinkat(c->host->folders[FOLDER_SNAPSHOTS], path, 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove '%s'", path);
	layer->is_kept = false;
	below = layer->below;
	drop_use(c, snapshot);
	unuse_stack(c, &below);
	return 0;
}

void layer_stacks_each(const struct layer_stacks *c,
                       void (*on_snapshot)(void *context, const char *id), void *context)
{
	const struct layer *layer;
	const char *id;
	size_t at = 0;

	while ((layer = map_next(&c->layers, &at, &id)))
		if (layer->is_kept)
			on_snapshot(context, id);
}

static bool sandbox_has_files(const struct layer_stacks *c, const char *user)
{
	return id_is_valid(user) &&
	       faccessat(c->host->folders[FOLDER_SANDBOXES], user, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool layer_stacks_search(const struct layer_stacks *c,
                         bool (*is_wanted)(void *context, const char *sandbox_id,
                                           const struct layer_stack *stack),
                         void *context, struct layer_stack *ret)
{
	const struct layer_stack *stack;
	const struct layer *layer;
	struct error ignored = {0};
	const char *id;
	size_t at = 0;

	while ((stack = map_next(&c->users, &at, &id)))
		if (is_wanted(context, id, stack) && sandbox_has_files(c, id)) {
			*ret = *stack;
			return true;
		}
	at = 0;
	while ((layer = map_next(&c->layers, &at, &id)))
		if (layer->is_kept && layer_stack_put(ret, id, &layer->below, &ignored) == 0 &&
		    is_wanted(context, NULL, ret))
			return true;
	return false;
}

/* The keys of a map that is about to change. */
static char **keys_of(const struct map *map, struct arena *a)
{
	char **keys = ARENA_ARRAY(a, char *, map->count + 1);
	size_t at = 0, count = 0;
	const char *key;

	while (map_next(map, &at, &key))
		keys[count++] = arena_text(a, key);
	keys[count] = NULL;
	return keys;
}

struct replacing {
	struct layer_stacks *stacks;
	const char *from, *merged;
};

static void replace_below(const struct replacing *r, const char *id)
{
	struct layer *layer = map_find(&r->stacks->layers, id);
	struct error err = {0};
	struct layer_stack old, new;
	char path[64];

	if (!layer || !layer->is_kept)
		return;
	old = new = layer->below;
	if (!layer_stack_replace(&new, r->from, r->merged))
		return;
	(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, id);
	if (layer_stack_rewrite(r->stacks->host->folders[FOLDER_SNAPSHOTS], path, &new, &err) < 0) {
		log_warning("a layer stack stays long", TEXT("snapshot", id), FAILURE(&err));
		return;
	}
	layer->below = new;
	use_stack(r->stacks, &new);
	unuse_stack(r->stacks, &old);
}

void layer_stacks_replace(struct layer_stacks *c, const char *from, const char *merged,
                          bool (*on_replace)(void *context, const char *sandbox_id,
                                             const struct layer_stack *old),
                          void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct replacing r = {c, from, merged};
	struct error err = {0};
	char path[64];

	find_or_make_layer(c, merged)->uses++;
	for (char **id = keys_of(&c->layers, &arena); *id; id++)
		replace_below(&r, *id);
	for (char **id = keys_of(&c->users, &arena); *id; id++) {
		const struct layer_stack *old = layer_stacks_of(c, *id);
		struct layer_stack new = *old;

		if (!layer_stack_replace(&new, from, merged) || !sandbox_has_files(c, *id) ||
		    !on_replace(context, *id, old))
			continue;
		(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, *id);
		if (layer_stack_rewrite(c->host->folders[FOLDER_SANDBOXES], path, &new, &err) == 0)
			layer_stacks_set(c, *id, &new);
		else
			log_warning("a layer stack stays long", TEXT("sandbox", *id),
			            FAILURE(&err));
	}
	drop_use(c, merged);
}

typedef int visit_entry(struct layer_stacks *c, const char *id, struct error *err);

static int each_entry(struct layer_stacks *c, enum host_folder which, visit_entry *visit,
                      struct error *err)
{
	AUTO(folder_list_done) DIR *folder = folder_list(c->host->folders[which]);
	struct dirent *entry;
	int status = 0;

	if (!folder)
		return FAIL_ERRNO(err, "list the snapshots");
	while (status == 0 && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			status = visit(c, entry->d_name, err);
	return status;
}

/* A sandbox whose stack cannot be read must not keep the others from starting. */
int layer_stacks_read_user(struct layer_stacks *c, int folder, const char *name, const char *id,
                           struct error *err)
{
	struct layer_stack stack, none = {.count = 0};
	char path[300], origin[LAYER_STACK_TEXT_SIZE];

	(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, name);
	if (layer_stack_read(folder, path, &stack, err) < 0 ||
	    layer_stack_origin(folder, name, &none, origin, err) < 0)
		return -1;
	layer_stacks_set(c, id, &stack);
	if (strcmp(origin, LAYER_STACK_NO_ORIGIN) == 0)
		return 0;
	if (layer_stack_parse(&stack, origin, err) < 0)
		return -1;
	layer_stacks_set_role(c, id, LAYER_STACK_ORIGIN, &stack);
	return 0;
}

static int read_sandbox(struct layer_stacks *c, const char *id, struct error *err)
{
	return layer_stacks_read_user(c, c->host->folders[FOLDER_SANDBOXES], id, id, err);
}

void layer_stacks_reread(struct layer_stacks *c, const char *sandbox_id)
{
	struct error err = {0};

	if (faccessat(c->host->folders[FOLDER_SANDBOXES], sandbox_id, F_OK, 0) == 0 &&
	    read_sandbox(c, sandbox_id, &err) < 0)
		log_error("a sandbox's layer stack cannot be read", TEXT("sandbox", sandbox_id),
		          FAILURE(&err));
}

static int adopt_sandbox(struct layer_stacks *c, const char *id, UNUSED struct error *err)
{
	struct error problem = {0};

	if (!id_is_valid(id) || read_sandbox(c, id, &problem) == 0)
		return 0;
	c->is_incomplete = true;
	log_error("a sandbox's layer stack cannot be read", TEXT("sandbox", id), FAILURE(&problem));
	return 0;
}

/* Reads the layers that a running sandbox has mounted, if its files name others. */
static int adopt_mounted(struct layer_stacks *c, const char *id, UNUSED struct error *err)
{
	struct error problem = {0};
	struct layer_stack stack;
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/" MOUNTED_LINK, id);
	if (layer_stack_read(c->host->folders[FOLDER_RUN_SANDBOXES], path, &stack, &problem) == 0) {
		layer_stacks_set_role(c, id, LAYER_STACK_MOUNTED, &stack);
		return 0;
	}
	c->is_incomplete = true;
	log_error("a sandbox's layers cannot be read", TEXT("sandbox", id), FAILURE(&problem));
	return 0;
}

static int adopt_snapshot(struct layer_stacks *c, const char *id, UNUSED struct error *err)
{
	struct error problem = {0};

	if (!id_is_valid(id) || !is_kept_snapshot(c->host, id) ||
	    layer_stacks_add(c, id, &problem) == 0)
		return 0;
	c->is_incomplete = true;
	log_error("a snapshot cannot be read", TEXT("snapshot", id), FAILURE(&problem));
	return 0;
}

static int sweep_snapshot(struct layer_stacks *c, const char *id, UNUSED struct error *err)
{
	const struct trash_note note = {BROKER_TRASH_ORPHAN, c->host->options->orphans_keep_s};
	struct error problem = {0};

	if (c->is_incomplete || map_find(&c->layers, id) || is_kept_snapshot(c->host, id))
		return 0;
	log_warning("a layer that no sandbox and no snapshot has goes to the trash",
	            TEXT("layer", id), NUMBER("keep_s", (int64_t)note.keep_s));
	if (note.keep_s == 0 || !id_is_valid(id)
	            ? host_trash(c->host, FOLDER_SNAPSHOTS, id, &problem) < 0
	            : trash_put_layer(c->host, id, &note, &problem) < 0)
		log_warning("a layer is left until the next start", FAILURE(&problem));
	return 0;
}

int layer_stacks_adopt(struct layer_stacks *c, struct error *err)
{
	if (each_entry(c, FOLDER_SANDBOXES, adopt_sandbox, err) < 0 ||
	    each_entry(c, FOLDER_SNAPSHOTS, adopt_snapshot, err) < 0 ||
	    each_entry(c, FOLDER_RUN_SANDBOXES, adopt_mounted, err) < 0 || trash_adopt(c, err) < 0)
		return -1;
	return each_entry(c, FOLDER_SNAPSHOTS, sweep_snapshot, err);
}

void layer_stacks_init(struct layer_stacks *c, struct host *host)
{
	*c = (struct layer_stacks){.host = host};
}

void layer_stacks_close(struct layer_stacks *c)
{
	map_free_values(&c->layers);
	map_free_values(&c->users);
}

static void mounted_path(char out[64], const char *sandbox_id)
{
	(void)snprintf(out, 64, "%s/" MOUNTED_LINK, sandbox_id);
}

bool layer_stacks_is_pinned(const struct layer_stacks *c, const char *sandbox_id)
{
	char path[64];

	mounted_path(path, sandbox_id);
	return faccessat(c->host->folders[FOLDER_RUN_SANDBOXES], path, F_OK, AT_SYMLINK_NOFOLLOW) ==
	       0;
}

int layer_stacks_pin(struct layer_stacks *c, const char *sandbox_id,
                     const struct layer_stack *mounted, struct error *err)
{
	char path[64];

	mounted_path(path, sandbox_id);
	if (layer_stack_write(c->host->folders[FOLDER_RUN_SANDBOXES], path, mounted, err) < 0)
		return -1;
	layer_stacks_set_role(c, sandbox_id, LAYER_STACK_MOUNTED, mounted);
	return 0;
}

void layer_stacks_unpin(struct layer_stacks *c, const char *sandbox_id)
{
	char path[64];

	/* In most cases there is no link, and the disk need not be read. */
	if (!layer_stacks_of_role(c, sandbox_id, LAYER_STACK_MOUNTED))
		return;
	mounted_path(path, sandbox_id);
	(void)unlinkat(c->host->folders[FOLDER_RUN_SANDBOXES], path, 0);
	layer_stacks_set_role(c, sandbox_id, LAYER_STACK_MOUNTED, NULL);
}
