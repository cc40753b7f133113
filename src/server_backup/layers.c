/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "base/path.h"
#include "server_backup/run.h"

/* Layers may be merged while they are read. */
#define ROUNDS_MAX 10
#define STACK_LINK "chain"
#define ORIGIN_LINK "origin"
#define KEPT_LINK "kept"

/* Links are added when all layers are in the archive. The work folder of an overlay holds nothing.
 */
static bool is_no_content(const char *path)
{
	return strcmp(path, STACK_LINK) == 0 || strcmp(path, ORIGIN_LINK) == 0 ||
	       strcmp(path, KEPT_LINK) == 0 || strncmp(path, "work/", strlen("work/")) == 0;
}

static bool is_no_content_nor_file(const char *path)
{
	return is_no_content(path) || strncmp(path, "upper/", strlen("upper/")) == 0;
}

/* The text of a link; "" = there is none. */
static int read_link(struct backup_run *b, const char *path, const char **ret, struct error *err)
{
	char text[PATH_SIZE_MAX];
	ssize_t size = readlinkat(b->data, path, text, sizeof(text));

	if (size < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "read the link '%s'", path);
	if (size == (ssize_t)sizeof(text))
		return FAIL(err, ERROR_TOO_LARGE, "the link '%s' is too long", path);
	*ret = size < 0 ? "" : arena_copy(b->arena, (struct span){text, (size_t)size});
	return 0;
}

static const char *sandbox_path(struct backup_run *b, const struct backup_sandbox *s,
                                const char *name)
{
	return arena_format(b->arena, "sandboxes/%s/%s", s->who.id, name);
}

/* A sandbox with a disk of its own has no such folder, and counts as one with files. */
static bool has_files(struct backup_run *b, const struct backup_sandbox *s)
{
	AUTO_CLOSE int fd = openat(b->data, sandbox_path(b, s, "upper"),
	                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO(folder_list_done) DIR *list = fd < 0 ? NULL : folder_list(fd);
	const struct dirent *entry;

	if (!list ||
	    faccessat(b->data, sandbox_path(b, s, "disk.img"), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	while ((entry = readdir(list))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return true;
	}
	return false;
}

static int add_folder(struct backup_run *b, struct backup_sandbox *s,
                      bool (*is_left_out)(const char *path), struct error *err)
{
	struct server_tree tree = {.is_left_out = is_left_out};

	if (read_link(b, sandbox_path(b, s, STACK_LINK), &s->stack, err) < 0 ||
	    backup_add_tree(b, arena_format(b->arena, "sandboxes/%s", s->who.id), &tree, err) < 0)
		return -1;
	s->is_packed = true;
	return 0;
}

/* Without a snapshot: what runs is paused. */
static int add_paused(struct backup_run *b, struct backup_sandbox *s, struct error *err)
{
	const char *path = arena_format(b->arena, "sandboxes/%s", s->who.id);
	bool paused, kept = true;

	backup_pause(b, &s->who, path, &paused);
	/* What is written to a disk image has to come to its file. */
	if (paused)
		sync();
	if (add_folder(b, s, is_no_content, err) < 0) {
		if (paused)
			(void)!server_calls_resume(&b->calls, &s->who, &kept, &(struct error){0});
		return -1;
	}
	if (paused && server_calls_resume(&b->calls, &s->who, &kept, err) < 0)
		return -1;
	if (!kept)
		backup_note_changed(b, path, "a call resumed the sandbox");
	return 0;
}

static int add_sandbox(struct backup_run *b, struct backup_sandbox *s, struct error *err)
{
	struct error why = {0};

	if (faccessat(b->data, arena_format(b->arena, "sandboxes/%s", s->who.id), F_OK,
	              AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!b->calls.client)
		return add_folder(b, s, is_no_content, err);
	if (!has_files(b, s))
		return add_folder(b, s, is_no_content_nor_file, err);
	if (server_calls_snapshot(&b->calls, &s->who, &s->layer, &why) == 0)
		return add_folder(b, s, is_no_content_nor_file, err);
	if (why.code == ERROR_NOT_FOUND)
		return 0;
	if (why.code == ERROR_UNAUTHENTICATED || why.code == ERROR_FORBIDDEN) {
		*err = why;
		return FAIL_CONTEXT(err, "take a snapshot of sandbox '%s'", s->who.id);
	}
	return add_paused(b, s, err);
}

int backup_add_sandboxes(struct backup_run *b, struct error *err)
{
	struct server_tree top = {.without_contents = true};

	if (backup_add_tree(b, "sandboxes", &top, err) < 0)
		return -1;
	for (size_t i = 0; i < b->sandbox_count; i++) {
		b->now = arena_format(b->arena, "sandbox %zu of %zu", i + 1, b->sandbox_count);
		if (add_sandbox(b, &b->sandboxes[i], err) < 0)
			return -1;
	}
	return 0;
}

int backup_list_layers(struct backup_run *b, struct error *err)
{
	AUTO_CLOSE int fd =
	        openat(b->data, "snapshots", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO(folder_list_done) DIR *list = fd < 0 ? NULL : folder_list(fd);
	const struct dirent *entry;

	/* A provider without snapshots has no such folder. */
	if (!list)
		return errno == ENOENT ? 0 : FAIL_ERRNO(err, "list the layers");
	while ((entry = readdir(list))) {
		if (id_is_valid(entry->d_name))
			(void)map_put(&b->wanted, entry->d_name, b);
	}
	return 0;
}

static int add_wanted_layers(struct backup_run *b, struct error *err)
{
	size_t at = 0;
	const char *id;

	while (map_next(&b->wanted, &at, &id)) {
		struct server_tree tree = {.is_left_out = is_no_content};

		if (map_find(&b->layers, id) ||
		    faccessat(b->data, arena_format(b->arena, "snapshots/%s", id), F_OK,
		              AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (backup_add_tree(b, arena_format(b->arena, "snapshots/%s", id), &tree, err) < 0)
			return -1;
		(void)map_put(&b->layers, id, b);
	}
	return 0;
}

struct layer_link {
	const char *path, *text;
	bool is_of_deleted; /* the sandbox was deleted after its files were read */
};
struct layer_links {
	struct layer_link *items;
	size_t count, capacity;
};

static void keep_link(struct backup_run *b, struct layer_links *links, const char *path,
                      const char *text)
{
	if (!text[0])
		return;
	links->items = arena_grow(b->arena, links->items, links->count, &links->capacity,
	                          sizeof(*links->items));
	links->items[links->count++] = (struct layer_link){path, text, false};
}

static bool text_ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* What lies below the files that were read: a later snapshot of the sandbox put layers on top of
 * it, which do not belong to them; merged layers have another name. */
static int find_stack(struct backup_run *b, const struct backup_sandbox *s, const char **ret,
                      struct error *err)
{
	const char *below, *now;

	if (s->layer) {
		if (read_link(b, arena_format(b->arena, "snapshots/%s/" STACK_LINK, s->layer),
		              &below, err) < 0)
			return -1;
		*ret = arena_format(b->arena, "%s%s%s", s->layer, below[0] ? " " : "", below);
		return 0;
	}
	if (read_link(b, sandbox_path(b, s, STACK_LINK), &now, err) < 0)
		return -1;
	*ret = !now[0] || text_ends_with(now, s->stack) ? s->stack : now;
	return 0;
}

static bool is_deleted(struct backup_run *b, const struct backup_sandbox *s)
{
	const char *path = arena_format(b->arena, "sandboxes/%s", s->who.id);

	return faccessat(b->data, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static int find_sandbox_links(struct backup_run *b, struct layer_links *links, struct error *err)
{
	for (size_t i = 0; i < b->sandbox_count; i++) {
		const struct backup_sandbox *s = &b->sandboxes[i];
		size_t first = links->count;
		const char *stack, *origin;

		if (!s->is_packed)
			continue;
		if (find_stack(b, s, &stack, err) < 0 ||
		    read_link(b, sandbox_path(b, s, ORIGIN_LINK), &origin, err) < 0)
			return -1;
		keep_link(b, links, sandbox_path(b, s, STACK_LINK), stack);
		keep_link(b, links, sandbox_path(b, s, ORIGIN_LINK), origin);
		for (size_t at = first; at < links->count; at++)
			links->items[at].is_of_deleted = is_deleted(b, s);
	}
	return 0;
}

/* Only snapshots that the database's copy knows keep the mark: a layer that the backup or a user
 * made later would be an orphan on the restored server. */
static int find_layer_links(struct backup_run *b, struct layer_links *links, struct error *err)
{
	size_t at = 0;
	const char *id;

	while (map_next(&b->layers, &at, &id)) {
		const char *stack_path = arena_format(b->arena, "snapshots/%s/" STACK_LINK, id);
		const char *kept_path = arena_format(b->arena, "snapshots/%s/" KEPT_LINK, id);
		const char *stack, *kept;

		if (read_link(b, stack_path, &stack, err) < 0 ||
		    read_link(b, kept_path, &kept, err) < 0)
			return -1;
		keep_link(b, links, stack_path, stack);
		if (map_find(&b->snapshots, id))
			keep_link(b, links, kept_path, kept);
	}
	return 0;
}

/* Whether all layers that a link names are in the archive; wants the others. Words that are no ids
 * name none. The layers of a deleted sandbox may be deleted, too: its link stays, so that a
 * restored server refuses to start it without them. */
static bool is_complete(struct backup_run *b, const struct layer_link *link)
{
	struct span rest = span_of(link->text), word;
	bool complete = true;

	while (rest.size > 0) {
		char id[ID_SIZE + 1];

		(void)span_split(&rest, ' ', &word);
		if (word.size != ID_SIZE)
			continue;
		memcpy(id, word.data, ID_SIZE);
		id[ID_SIZE] = '\0';
		if (!id_is_valid(id) || map_find(&b->layers, id))
			continue;
		(void)map_put(&b->wanted, id, b);
		complete = complete && link->is_of_deleted;
	}
	return complete;
}

static int find_links(struct backup_run *b, struct layer_links *ret, bool *ret_complete,
                      struct error *err)
{
	*ret = (struct layer_links){0};
	*ret_complete = true;
	if (find_sandbox_links(b, ret, err) < 0 || find_layer_links(b, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->count; i++)
		*ret_complete = is_complete(b, &ret->items[i]) && *ret_complete;
	return 0;
}

static const char *find_incomplete(struct backup_run *b, const struct layer_links *links)
{
	for (size_t i = 0; i < links->count; i++) {
		if (!is_complete(b, &links->items[i]))
			return links->items[i].path;
	}
	return "";
}

int backup_add_layers(struct backup_run *b, struct error *err)
{
	struct server_tree top = {.without_contents = true};
	struct layer_links links;
	bool complete = false;

	b->now = "layers";
	if (backup_add_tree(b, "snapshots", &top, err) < 0)
		return -1;
	for (size_t i = 0; i < b->sandbox_count; i++) {
		if (b->sandboxes[i].layer)
			(void)map_put(&b->wanted, b->sandboxes[i].layer, b);
	}
	for (unsigned i = 0; i < ROUNDS_MAX && !complete; i++) {
		if (add_wanted_layers(b, err) < 0 || find_links(b, &links, &complete, err) < 0)
			return -1;
	}
	if (!complete)
		return FAIL(
		        err, ERROR_CONFLICT,
		        "layers were merged %d times while they were read; '%.100s' names a layer "
		        "that does not exist",
		        ROUNDS_MAX, find_incomplete(b, &links));
	for (size_t i = 0; i < links.count; i++) {
		const char *path = arena_format(b->arena, SERVER_ROOT "/%s", links.items[i].path);

		if (server_writer_link(b->writer, path, links.items[i].text, err) < 0)
			return -1;
	}
	return 0;
}
