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

#include "base/fd.h"
#include "base/log.h"

#define LINK_MAX_SIZE (CHAIN_MAX * (ID_SIZE + 1) + 1)

struct layer {
	unsigned uses; /* in chains of users and of kept layers; being kept is one */
	bool is_kept;
	struct chain below;
};

/* ---- on disk ---- */

int chain_write(int folder, const char *path, const struct chain *chain, struct error *err)
{
	char text[LINK_MAX_SIZE];
	size_t size = 0;

	if (chain->count == 0)
		return 0;
	for (unsigned i = 0; i < chain->count; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", i > 0 ? " " : "",
		                         chain->ids[i]);
	return symlinkat(text, folder, path) < 0 ? FAIL_ERRNO(err, "write '%s'", path) : 0;
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
	char text[LINK_MAX_SIZE];
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

int chains_find_origin(const struct chains *c, const char *user, const char *origin,
                       struct chain *ret, struct error *err)
{
	const struct chain *own = chains_of(c, user);
	unsigned first = 0;

	if (!*origin) {
		ret->count = 0;
		return 0;
	}
	while (own && first < own->count && strcmp(own->ids[first], origin) != 0)
		first++;
	if (!own || first == own->count)
		return chains_find(c, origin, ret, err);
	ret->count = own->count - first;
	memcpy(ret->ids, own->ids[first], ret->count * sizeof(ret->ids[0]));
	return 0;
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
static int adopt_sandbox(struct chains *c, const char *id, UNUSED struct error *err)
{
	struct error problem = {0};
	struct chain chain;
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/" CHAIN_LINK, id);
	if (chain_read(c->host->folders[FOLDER_SANDBOXES], path, &chain, &problem) == 0) {
		chains_set(c, id, &chain);
		return 0;
	}
	c->is_incomplete = true;
	log_error("a sandbox's chain cannot be read", TEXT("sandbox", id), FAILURE(&problem));
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
	struct error ignored = {0};

	if (c->is_incomplete || map_find(&c->layers, id) || is_kept(c->host, id))
		return 0;
	log_info("a layer is nobody's", TEXT("layer", id));
	(void)!host_trash(c->host, FOLDER_SNAPSHOTS, id, &ignored);
	return 0;
}

int chains_adopt(struct chains *c, struct error *err)
{
	if (each_entry(c, FOLDER_SANDBOXES, adopt_sandbox, err) < 0 ||
	    each_entry(c, FOLDER_SNAPSHOTS, adopt_snapshot, err) < 0)
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
