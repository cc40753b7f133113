/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/chains.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/flatten.h"
#include "broker/trash.h"

#define NO_ORIGIN "none"

struct layer {
	unsigned uses; /* in chains of users and of kept layers; being kept is one */
	bool is_kept;
	struct chain below;
};

/* ---- on disk ---- */

static void format(const struct chain *chain, char out[CHAIN_TEXT_SIZE])
{
	size_t size = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < chain->count; i++)
		size += (size_t)snprintf(out + size, CHAIN_TEXT_SIZE - size, "%s%s",
		                         i > 0 ? " " : "", chain->ids[i]);
}

int chain_write(int folder, const char *path, const struct chain *chain, struct error *err)
{
	char text[CHAIN_TEXT_SIZE];

	if (chain->count == 0)
		return 0;
	format(chain, text);
	return symlinkat(text, folder, path) < 0 ? FAIL_ERRNO(err, "write '%s'", path) : 0;
}

int chain_rewrite(int folder, const char *path, const struct chain *chain, struct error *err)
{
	char next[80];

	(void)snprintf(next, sizeof(next), "%s.next", path);
	if (unlinkat(folder, next, 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove '%s'", next);
	if (chain_write(folder, next, chain, err) < 0)
		return -1;
	return renameat(folder, next, folder, path) < 0 ? FAIL_ERRNO(err, "replace '%s'", path) : 0;
}

bool chain_replace(struct chain *chain, const char *from, const char *merged)
{
	for (unsigned i = 0; i < chain->count; i++) {
		if (strcmp(chain->ids[i], from) != 0)
			continue;
		memcpy(chain->ids[i], merged, sizeof(chain->ids[i]));
		chain->count = i + 1;
		return true;
	}
	return false;
}

int chain_parse(struct chain *ret, const char *text, struct error *err)
{
	struct span rest = span_of(text), word;

	ret->count = 0;
	while (rest.size > 0) {
		(void)span_split(&rest, ' ', &word);
		if (ret->count == CHAIN_MAX || word.size != ID_SIZE)
			return FAIL(err, ERROR_INVALID, "'%.60s' is no chain of layers", text);
		memcpy(ret->ids[ret->count], word.data, ID_SIZE);
		ret->ids[ret->count][ID_SIZE] = '\0';
		if (!id_is_valid(ret->ids[ret->count]))
			return FAIL(err, ERROR_INVALID, "'%.60s' is no chain of layers", text);
		ret->count++;
	}
	return 0;
}

int chain_read(int folder, const char *path, struct chain *ret, struct error *err)
{
	char text[CHAIN_TEXT_SIZE];
	ssize_t size = readlinkat(folder, path, text, sizeof(text));

	if (size < 0 && errno == ENOENT) {
		ret->count = 0;
		return 0;
	}
	if (size < 0)
		return FAIL_ERRNO(err, "read '%s'", path);
	if ((size_t)size == sizeof(text))
		return FAIL(err, ERROR_INVALID, "'%s' is no chain of layers", path);
	text[size] = '\0';
	return chain_parse(ret, text, err);
}

int chain_origin(int folder, const char *sandbox, const struct chain *chain,
                 char ret[CHAIN_TEXT_SIZE], struct error *err)
{
	char path[64];
	ssize_t size;

	(void)snprintf(path, sizeof(path), "%s/" ORIGIN_LINK, sandbox);
	size = readlinkat(folder, path, ret, CHAIN_TEXT_SIZE - 1);
	if (size < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "read '%s'", path);
	if (size >= 0)
		ret[size] = '\0';
	else if (chain->count > 0)
		format(chain, ret);
	else
		(void)snprintf(ret, CHAIN_TEXT_SIZE, NO_ORIGIN);
	return 0;
}

int chain_put(struct chain *ret, const char *top, const struct chain *below, struct error *err)
{
	if (below->count == CHAIN_MAX) {
		(void)FAIL(err, ERROR_LIMIT, "it lies on %d snapshots already, which is the most",
		           CHAIN_MAX);
		error_hint(err, "make a new sandbox from an older snapshot, or restore one");
		return -1;
	}
	ret->count = below->count + 1;
	memcpy(ret->ids[0], top, sizeof(ret->ids[0]));
	for (unsigned i = 0; i < below->count; i++)
		memcpy(ret->ids[i + 1], below->ids[i], sizeof(ret->ids[0]));
	return 0;
}

bool chain_equals(const struct chain *a, const struct chain *b)
{
	unsigned count = a ? a->count : 0;

	if (count != (b ? b->count : 0))
		return false;
	return count == 0 || memcmp(a->ids, b->ids, count * sizeof(a->ids[0])) == 0;
}

/* ---- uses ---- */

static struct layer *find_or_make(struct chains *c, const char *id)
{
	struct layer *layer = map_find(&c->layers, id);

	if (layer)
		return layer;
	layer = calloc(1, sizeof(*layer));
	if (!layer)
		abort();
	(void)map_put(&c->layers, id, layer);
	return layer;
}

/* One use less of `id`, which nobody may have any more then. */
static void drop_use(struct chains *c, const char *id)
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

static void use_chain(struct chains *c, const struct chain *chain)
{
	for (unsigned i = 0; i < chain->count; i++)
		find_or_make(c, chain->ids[i])->uses++;
}

static void unuse_chain(struct chains *c, const struct chain *chain)
{
	for (unsigned i = 0; i < chain->count; i++)
		drop_use(c, chain->ids[i]);
}

const struct chain *chains_of(const struct chains *c, const char *user)
{
	return map_find(&c->users, user);
}

int chains_find(const struct chains *c, const char *snapshot, struct chain *ret, struct error *err)
{
	const struct layer *layer = map_find(&c->layers, snapshot);

	if (!layer || !layer->is_kept)
		return FAIL(err, ERROR_NOT_FOUND, "no snapshot '%s'", snapshot);
	return chain_put(ret, snapshot, &layer->below, err);
}

/* No id has a point in it. */
static void role_name(char out[48], const char *id, enum chain_role role)
{
	static const char *const names[] = {[CHAIN_ORIGIN] = "origin", [CHAIN_MOUNTED] = "mounted",
	                                    [CHAIN_MERGED] = "merged", [CHAIN_NOW] = "now",
	                                    [CHAIN_BASE] = "base",     [CHAIN_TRASHED] = "trashed"};

	(void)snprintf(out, 48, "%s.%s", id, names[role]);
}

const struct chain *chains_of_role(const struct chains *c, const char *id, enum chain_role role)
{
	char name[48];

	role_name(name, id, role);
	return chains_of(c, name);
}

/* From the layer `top` on. */
static bool find_in(const struct chain *chain, const char *top, struct chain *ret)
{
	unsigned first = 0;

	while (chain && first < chain->count && strcmp(chain->ids[first], top) != 0)
		first++;
	if (!chain || first == chain->count)
		return false;
	ret->count = chain->count - first;
	memcpy(ret->ids, chain->ids[first], ret->count * sizeof(ret->ids[0]));
	return true;
}

int chains_find_origin(const struct chains *c, const char *user, const char *origin,
                       struct chain *ret, struct error *err)
{
	if (!*origin) {
		ret->count = 0;
		return 0;
	}
	if (find_in(chains_of(c, user), origin, ret) ||
	    find_in(chains_of_role(c, user, CHAIN_ORIGIN), origin, ret))
		return 0;
	return chains_find(c, origin, ret, err);
}

/* The new one first: what both have stays. */
void chains_set(struct chains *c, const char *user, const struct chain *chain)
{
	struct chain *copy = NULL, *old;

	if (chain && chain->count > 0) {
		copy = malloc(sizeof(*copy));
		if (!copy)
			abort();
		*copy = *chain;
		use_chain(c, copy);
	}
	old = copy ? map_put(&c->users, user, copy) : map_remove(&c->users, user);
	if (old)
		unuse_chain(c, old);
	free(old);
}

void chains_set_role(struct chains *c, const char *id, enum chain_role role,
                     const struct chain *chain)
{
	char name[48];

	role_name(name, id, role);
	chains_set(c, name, chain);
}

/* ---- snapshots ---- */

static bool is_kept(const struct host *host, const char *id)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/" KEPT_LINK, id);
	return faccessat(host->folders[FOLDER_SNAPSHOTS], path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int chains_add(struct chains *c, const char *snapshot, struct error *err)
{
	struct chain below;
	struct layer *layer;
	char path[64];

	if (!is_kept(c->host, snapshot))
		return FAIL(err, ERROR_NOT_FOUND, "snapshot '%s' is not whole", snapshot);
	(void)snprintf(path, sizeof(path), "%s/" CHAIN_LINK, snapshot);
	if (chain_read(c->host->folders[FOLDER_SNAPSHOTS], path, &below, err) < 0)
		return -1;
	layer = find_or_make(c, snapshot);
	if (layer->is_kept)
		return 0;
	layer->is_kept = true;
	layer->uses++;
	layer->below = below;
	use_chain(c, &below);
	return 0;
}

int chains_remove(struct chains *c, const char *snapshot, struct error *err)
{
	struct layer *layer = map_find(&c->layers, snapshot);
	struct chain below;
	char path[64];

	if (!layer || !layer->is_kept)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/" KEPT_LINK, snapshot);
	if (unlinkat(c->host->folders[FOLDER_SNAPSHOTS], path, 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove '%s'", path);
	layer->is_kept = false;
	below = layer->below;
	drop_use(c, snapshot);
	unuse_chain(c, &below);
	return 0;
}

void chains_each(const struct chains *c, void (*on_snapshot)(void *context, const char *id),
                 void *context)
{
	const struct layer *layer;
	const char *id;
	size_t at = 0;

	while ((layer = map_next(&c->layers, &at, &id)))
		if (layer->is_kept)
			on_snapshot(context, id);
}

/* ---- chains that get shorter ---- */

static bool has_files(const struct chains *c, const char *user)
{
	return id_is_valid(user) &&
	       faccessat(c->host->folders[FOLDER_SANDBOXES], user, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool chains_search(const struct chains *c,
                   bool (*is_wanted)(void *context, const char *sandbox, const struct chain *chain),
                   void *context, struct chain *ret)
{
	const struct chain *chain;
	const struct layer *layer;
	struct error ignored = {0};
	const char *id;
	size_t at = 0;

	while ((chain = map_next(&c->users, &at, &id)))
		if (is_wanted(context, id, chain) && has_files(c, id)) {
			*ret = *chain;
			return true;
		}
	at = 0;
	while ((layer = map_next(&c->layers, &at, &id)))
		if (layer->is_kept && chain_put(ret, id, &layer->below, &ignored) == 0 &&
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
	struct chains *chains;
	const char *from, *merged;
};

static void replace_below(const struct replacing *r, const char *id)
{
	struct layer *layer = map_find(&r->chains->layers, id);
	struct error err = {0};
	struct chain old, new;
	char path[64];

	if (!layer || !layer->is_kept)
		return;
	old = new = layer->below;
	if (!chain_replace(&new, r->from, r->merged))
		return;
	(void)snprintf(path, sizeof(path), "%s/" CHAIN_LINK, id);
	if (chain_rewrite(r->chains->host->folders[FOLDER_SNAPSHOTS], path, &new, &err) < 0) {
		log_warning("a chain stays long", TEXT("snapshot", id), FAILURE(&err));
		return;
	}
	layer->below = new;
	use_chain(r->chains, &new);
	unuse_chain(r->chains, &old);
}

void chains_replace(struct chains *c, const char *from, const char *merged,
                    bool (*on_replace)(void *context, const char *sandbox, const struct chain *old),
                    void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct replacing r = {c, from, merged};
	struct error err = {0};
	char path[64];

	find_or_make(c, merged)->uses++;
	for (char **id = keys_of(&c->layers, &arena); *id; id++)
		replace_below(&r, *id);
	for (char **id = keys_of(&c->users, &arena); *id; id++) {
		const struct chain *old = chains_of(c, *id);
		struct chain new = *old;

		if (!chain_replace(&new, from, merged) || !has_files(c, *id) ||
		    !on_replace(context, *id, old))
			continue;
		(void)snprintf(path, sizeof(path), "%s/" CHAIN_LINK, *id);
		if (chain_rewrite(c->host->folders[FOLDER_SANDBOXES], path, &new, &err) == 0)
			chains_set(c, *id, &new);
		else
			log_warning("a chain stays long", TEXT("sandbox", *id), FAILURE(&err));
	}
	drop_use(c, merged);
}

/* ---- at start ---- */

typedef int visit_entry(struct chains *c, const char *id, struct error *err);

static int each_entry(struct chains *c, enum host_folder which, visit_entry *visit,
                      struct error *err)
{
	int fd = openat(c->host->folders[which], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int status = 0;

	if (!folder) {
		fd_forget(&fd);
		return FAIL_ERRNO(err, "list the snapshots");
	}
	while (status == 0 && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			status = visit(c, entry->d_name, err);
	(void)closedir(folder);
	return status;
}

/* One that cannot be read must not keep all others from their owners. */
int chains_read_user(struct chains *c, int folder, const char *name, const char *id,
                     struct error *err)
{
	struct chain chain, none = {.count = 0};
	char path[300], origin[CHAIN_TEXT_SIZE];

	(void)snprintf(path, sizeof(path), "%s/" CHAIN_LINK, name);
	if (chain_read(folder, path, &chain, err) < 0 ||
	    chain_origin(folder, name, &none, origin, err) < 0)
		return -1;
	chains_set(c, id, &chain);
	if (strcmp(origin, NO_ORIGIN) == 0)
		return 0;
	if (chain_parse(&chain, origin, err) < 0)
		return -1;
	chains_set_role(c, id, CHAIN_ORIGIN, &chain);
	return 0;
}

static int read_sandbox(struct chains *c, const char *id, struct error *err)
{
	return chains_read_user(c, c->host->folders[FOLDER_SANDBOXES], id, id, err);
}

void chains_reread(struct chains *c, const char *sandbox)
{
	struct error err = {0};

	if (faccessat(c->host->folders[FOLDER_SANDBOXES], sandbox, F_OK, 0) == 0 &&
	    read_sandbox(c, sandbox, &err) < 0)
		log_error("a sandbox's chain cannot be read", TEXT("sandbox", sandbox),
		          FAILURE(&err));
}

static int adopt_sandbox(struct chains *c, const char *id, UNUSED struct error *err)
{
	struct error problem = {0};

	if (!id_is_valid(id) || read_sandbox(c, id, &problem) == 0)
		return 0;
	c->is_incomplete = true;
	log_error("a sandbox's chain cannot be read", TEXT("sandbox", id), FAILURE(&problem));
	return 0;
}

/* What one that runs has mounted, where that is not what its files say. */
static int adopt_mounted(struct chains *c, const char *id, UNUSED struct error *err)
{
	struct error problem = {0};
	struct chain chain;
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/" MOUNTED_LINK, id);
	if (chain_read(c->host->folders[FOLDER_RUN_SANDBOXES], path, &chain, &problem) == 0) {
		chains_set_role(c, id, CHAIN_MOUNTED, &chain);
		return 0;
	}
	c->is_incomplete = true;
	log_error("a sandbox's layers cannot be read", TEXT("sandbox", id), FAILURE(&problem));
	return 0;
}

static int adopt_snapshot(struct chains *c, const char *id, UNUSED struct error *err)
{
	struct error problem = {0};

	if (!id_is_valid(id) || !is_kept(c->host, id) || chains_add(c, id, &problem) == 0)
		return 0;
	c->is_incomplete = true;
	log_error("a snapshot cannot be read", TEXT("snapshot", id), FAILURE(&problem));
	return 0;
}

static int sweep_snapshot(struct chains *c, const char *id, UNUSED struct error *err)
{
	const struct trash_note note = {BROKER_TRASH_ORPHAN, c->host->options.orphans_keep_s};
	struct error problem = {0};

	if (c->is_incomplete || map_find(&c->layers, id) || is_kept(c->host, id))
		return 0;
	log_warning("a layer that no sandbox and no snapshot has goes to the trash",
	            TEXT("layer", id), NUMBER("keep_s", (int64_t)note.keep_s));
	if (note.keep_s == 0 || !id_is_valid(id)
	            ? host_trash(c->host, FOLDER_SNAPSHOTS, id, &problem) < 0
	            : trash_put_layer(c->host, id, &note, &problem) < 0)
		log_warning("a layer is left until the next start", FAILURE(&problem));
	return 0;
}

int chains_adopt(struct chains *c, struct error *err)
{
	if (each_entry(c, FOLDER_SANDBOXES, adopt_sandbox, err) < 0 ||
	    each_entry(c, FOLDER_SNAPSHOTS, adopt_snapshot, err) < 0 ||
	    each_entry(c, FOLDER_RUN_SANDBOXES, adopt_mounted, err) < 0 || trash_adopt(c, err) < 0)
		return -1;
	return each_entry(c, FOLDER_SNAPSHOTS, sweep_snapshot, err);
}

void chains_init(struct chains *c, struct host *host)
{
	*c = (struct chains){.host = host};
}

static void free_all(struct map *map)
{
	const char *key;
	size_t at = 0;
	void *value;

	while ((value = map_next(map, &at, &key)))
		free(value);
	map_done(map);
}

void chains_close(struct chains *c)
{
	free_all(&c->layers);
	free_all(&c->users);
}
