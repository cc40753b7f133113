/* SPDX-License-Identifier: Apache-2.0 */
#include "task/merge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map.h"
#include "wire/task.h"

#define OPAQUE "trusted.overlay.opaque"
#define OVERLAY_MARKS "trusted.overlay."
#define NAMES_MAX (64 * 1024)
#define VALUE_MAX (64 * 1024)

struct merging {
	const struct merge_limits *limits;
	unsigned entries, depth;
	char names[NAMES_MAX], value[VALUE_MAX];
};

/* One folder in the layers that have it, the topmost first. */
struct folder_stack {
	int fds[TASK_LAYERS_MAX];
	unsigned count;
	bool is_closed; /* nothing that lies below shows through */
};

static void stack_done(struct folder_stack *s)
{
	while (s->count > 0)
		(void)close(s->fds[--s->count]);
}

static bool is_whiteout(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == 0;
}

static bool is_opaque(int folder)
{
	char value[2];

	return fgetxattr(folder, OPAQUE, value, sizeof(value)) == 1 && value[0] == 'y';
}

static int copy_attributes(struct merging *m, int from, int to, struct error *err)
{
	ssize_t size = flistxattr(from, m->names, sizeof(m->names));

	if (size < 0)
		return errno == EOPNOTSUPP ? 0 : FAIL_ERRNO(err, "list attributes");
	for (const char *name = m->names; name < m->names + size; name += strlen(name) + 1) {
		ssize_t got;

		if (strncmp(name, OVERLAY_MARKS, strlen(OVERLAY_MARKS)) == 0)
			continue;
		got = fgetxattr(from, name, m->value, sizeof(m->value));
		if (got < 0 || fsetxattr(to, name, m->value, (size_t)got, 0) < 0)
			return FAIL_ERRNO(err, "copy the attribute '%s'", name);
	}
	return 0;
}

/* Called last: making entries in a folder changes its time. */
static int finish_folder(struct merging *m, int from, int to, bool hides, struct error *err)
{
	struct timespec times[2];
	struct stat status;

	if (fstat(from, &status) < 0)
		return FAIL_ERRNO(err, "look at a folder");
	if (copy_attributes(m, from, to, err) < 0)
		return -1;
	times[0] = status.st_atim;
	times[1] = status.st_mtim;
	if ((hides && fsetxattr(to, OPAQUE, "y", 1, 0) < 0) ||
	    fchown(to, status.st_uid, status.st_gid) < 0 ||
	    fchmod(to, status.st_mode & 07777) < 0 || futimens(to, times) < 0)
		return FAIL_ERRNO(err, "set the attributes of a folder");
	return 0;
}

/* Opens the folder in this layer. 0: the layer has no such name; 1: it has. A name that is no
 * folder hides all below it. */
static int push_folder(struct folder_stack *s, int parent, const char *name, struct error *err)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0) {
		s->is_closed = is_opaque(fd);
		s->fds[s->count++] = fd;
		return 1;
	}
	if (errno == ENOENT)
		return 0;
	if (errno != ENOTDIR && errno != ELOOP)
		return FAIL_ERRNO(err, "open the folder '%.100s'", name);
	s->is_closed = true;
	return 1;
}

static int merge_stack(struct merging *m, const struct folder_stack *s, int to, struct error *err);

static int merge_folder(struct merging *m, const struct folder_stack *parents, unsigned top, int to,
                        const char *name, struct error *err)
{
	AUTO(stack_done) struct folder_stack s = {.count = 0};
	AUTO_CLOSE int made = -1;
	bool hides;

	for (unsigned i = top; i < parents->count && !s.is_closed; i++)
		if (push_folder(&s, parents->fds[i], name, err) < 0)
			return -1;
	if (s.count == 0)
		return FAIL(err, ERROR_SYSTEM, "the folder '%.100s' is gone", name);
	if (m->depth == m->limits->depth_max)
		return FAIL(err, ERROR_LIMIT, "folders are nested more than %u deep",
		            m->limits->depth_max);
	if (mkdirat(to, name, 0700) < 0)
		return FAIL_ERRNO(err, "make the folder '%.100s'", name);
	made = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (made < 0)
		return FAIL_ERRNO(err, "open the folder '%.100s'", name);
	/* Below a closed folder nothing is left to hide. */
	hides = s.is_closed && !parents->is_closed;
	s.is_closed |= parents->is_closed;
	m->depth++;
	if (merge_stack(m, &s, made, err) < 0)
		return -1;
	m->depth--;
	return finish_folder(m, s.fds[0], made, hides, err);
}

static int link_entry(int folder, int to, const char *name, bool whiteout, struct error *err)
{
	if (linkat(folder, name, to, name, 0) == 0)
		return 0;
	if (errno == EMLINK && whiteout && mknodat(to, name, S_IFCHR, 0) == 0)
		return 0;
	return FAIL_ERRNO(err, "link '%.100s'", name);
}

static int merge_entry(struct merging *m, const struct folder_stack *s, unsigned top, int to,
                       const char *name, struct error *err)
{
	struct stat status;

	if (++m->entries > m->limits->entries_max)
		return FAIL(err, ERROR_LIMIT, "more than %u files", m->limits->entries_max);
	if (fstatat(s->fds[top], name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "look at '%.100s'", name);
	if (S_ISDIR(status.st_mode))
		return merge_folder(m, s, top, to, name, err);
	/* Overlayfs does not expect a whiteout where there is nothing to hide. */
	if (is_whiteout(&status) && s->is_closed)
		return 0;
	return link_entry(s->fds[top], to, name, is_whiteout(&status), err);
}

/* Merges the names of one layer that no layer above it has. */
static int merge_layer(struct merging *m, const struct folder_stack *s, unsigned top, int to,
                       struct map *seen, struct error *err)
{
	AUTO(folder_list_done) DIR *folder = folder_list(s->fds[top]);
	struct dirent *entry;
	int status = 0;

	if (!folder)
		return FAIL_ERRNO(err, "list a folder");
	while (status == 0 && (entry = readdir(folder))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || map_find(seen, name))
			continue;
		/* A folder in only one layer has no name twice. */
		if (s->count > 1)
			(void)map_put(seen, name, m);
		status = merge_entry(m, s, top, to, name, err);
	}
	return status;
}

static int merge_stack(struct merging *m, const struct folder_stack *s, int to, struct error *err)
{
	AUTO(map_done) struct map seen = {0};

	for (unsigned i = 0; i < s->count; i++)
		if (merge_layer(m, s, i, to, &seen, err) < 0)
			return -1;
	return 0;
}

int merge_layers(const int *layers, unsigned count, int to, const struct merge_limits *limits,
                 struct error *err)
{
	static struct merging m; /* large, and this process does it once */
	struct folder_stack s = {.count = count};

	if (count == 0 || count > TASK_LAYERS_MAX)
		return FAIL(err, ERROR_INVALID, "%u layers: 1 to %d can be merged", count,
		            TASK_LAYERS_MAX);
	memcpy(s.fds, layers, count * sizeof(*layers));
	m = (struct merging){.limits = limits};
	if (merge_stack(&m, &s, to, err) < 0)
		return -1;
	return copy_attributes(&m, layers[0], to, err);
}
