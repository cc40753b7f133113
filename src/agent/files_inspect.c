/* SPDX-License-Identifier: Apache-2.0 */
/* INSPECT: names of owners, targets of links, attributes, times in nanoseconds. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/inspect.h"
#include "agent/walk.h"

#define DEPTH_MAX 64
/* More than an entry may have. */
#define ENTRY_ROOM (3 * BASE_DIR_PATH_MAX + 2 * AGENT_ATTRIBUTES_BYTES_MAX)

void inspection_done(struct inspection *i)
{
	base_dir_done(&i->place);
	user_names_done(&i->names);
	arena_done(&i->arena);
}

/* Resolves the path by the usual rules of the base directory. */
static void follow_link(struct inspection *i, const char *path, struct agent_entry *entry)
{
	char self[FILE_SELF_SIZE], target[PATH_MAX];
	AUTO_CLOSE int fd = -1;
	struct error ignored;
	struct stat status;
	ssize_t size;

	if (base_dir_find(&i->place, path, O_PATH, &fd, &ignored) < 0 || fstat(fd, &status) < 0)
		return;
	entry->link_type = file_type_of(&status);
	entry->link_mode = status.st_mode & 07777;
	file_self_path(fd, self);
	size = readlink(self, target, sizeof(target));
	if (size > 0 && (size_t)size < sizeof(target))
		entry->link = base_dir_own_path(
		        i->place.host, arena_copy(&i->arena, (struct span){target, (size_t)size}));
}

/* `at` names the entry by a descriptor. */
static int send_inspected(struct inspection *i, const char *path, const char *at,
                          const struct stat *status, struct error *err)
{
	struct files *f = i->files;
	char owner[64], group[64];
	struct agent_entry entry = {
	        .path = path,
	        .link = "",
	        .type = file_type_of(status),
	        .mode = status->st_mode & 07777,
	        .size = (uint64_t)status->st_size,
	        .modified_s = status->st_mtim.tv_sec,
	        .modified_ns = (uint32_t)status->st_mtim.tv_nsec,
	        .owner = owner,
	        .group = group,
	};

	user_name_of(&i->names, status->st_uid, owner);
	user_group_of(&i->names, status->st_gid, group);
	entry.attributes =
	        file_attributes(&i->arena, at, S_ISLNK(status->st_mode) ? "" : i->message->target);
	if (S_ISLNK(status->st_mode))
		follow_link(i, path, &entry);
	i->count++;
	if (f->out.size_max - f->out.size < ENTRY_ROOM)
		files_flush(f);
	return wire_encode(&f->out, AGENT_ENTRY, agent_entry_shape, &entry, err);
}

int inspection_tell(struct inspection *i, int folder, const char *below, const struct stat *status,
                    struct error *err)
{
	const char *root = i->message->path;
	bool ends = root[0] && root[strlen(root) - 1] == '/';
	const char *path;
	char at[64 + PATH_MAX];

	arena_reset(&i->arena);
	path = arena_format(&i->arena, "%s%s%s", root, ends || !below[0] ? "" : "/", below);
	(void)snprintf(at, sizeof(at), "/proc/self/fd/%d/%s", folder, below);
	return send_inspected(i, path, at, status, err);
}

static int tell_entry(struct walk *w, const struct walk_entry *entry, struct error *err)
{
	struct inspection *i = w->context;

	if (i->count == i->count_max)
		return WALK_STOP;
	return inspection_tell(i, i->root, entry->path, &entry->status, err) < 0 ? -1 : WALK_ON;
}

static int inspect_path(struct inspection *i, struct error *err)
{
	const char *path = i->message->path;
	AUTO_CLOSE int fd = -1;
	struct stat status;
	char self[FILE_SELF_SIZE];

	if (base_dir_find(&i->place, path, O_PATH | O_NOFOLLOW, &fd, err) < 0)
		return -1;
	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", path);
	file_self_path(fd, self);
	arena_reset(&i->arena);
	return send_inspected(i, path, self, &status, err);
}

static int inspect_below(struct inspection *i, struct error *err)
{
	struct walk walk = {.on_entry = tell_entry,
	                    .context = i,
	                    .depth_max = i->message->depth,
	                    .passes_unreadable = true};
	AUTO_CLOSE int fd = -1;

	if (walk.depth_max > DEPTH_MAX)
		return FAIL(err, ERROR_INVALID, "depth is more than %d", DEPTH_MAX);
	if (base_dir_find(&i->place, i->message->path, O_RDONLY | O_DIRECTORY, &fd, err) < 0)
		return -1;
	i->root = fd;
	return walk_run(&walk, fd, err) < 0 ? -1 : 0;
}

int inspection_open(struct inspection *i, struct files *f, const struct agent_path *m,
                    struct error *err)
{
	*i = (struct inspection){
	        .files = f, .message = m, .count_max = files_entries_max(m), .root = -1};
	if (base_dir_open(&i->place, &f->rules, m, err) < 0)
		return -1;
	user_names_read(&i->names);
	return 0;
}

int files_inspect(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(inspection_done) struct inspection i = {.root = -1};

	if (inspection_open(&i, f, m, err) < 0 ||
	    (m->depth ? inspect_below(&i, err) : inspect_path(&i, err)) < 0)
		return -1;
	files_flush(f);
	files_send_done(f, i.count);
	return 1;
}
