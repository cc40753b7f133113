/* SPDX-License-Identifier: Apache-2.0 */
/* COMPARE and TAR_BASE: the differences between two trees, and the first tree's version of them. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/compare.h"
#include "agent/files.h"
#include "agent/tar_out.h"
#include "base/fd.h"

#define READ_MAX (UINT64_C(1) << 30) /* bytes compared for one request */

static const char *const tree_names[TREE_COUNT] = {
        [TREE_BASE] = AGENT_TREE_BASE,
        [TREE_NOW] = AGENT_TREE_NOW,
        [TREE_OVER_0] = AGENT_TREE_OVER_0,
        [TREE_OVER_1] = AGENT_TREE_OVER_1,
};

static int trees_open(struct files *f, const struct agent_path *m, struct tree_folders *ret,
                      struct error *err)
{
	const struct agent_path at = {.root = m->root, .path = "", .target = ""};
	AUTO(base_dir_done) struct base_dir place = {0};
	struct error ignored = {0};

	*ret = (struct tree_folders){{-1, -1, -1, -1}};
	if (base_dir_open(&place, &f->rules, &at, err) < 0)
		return -1;
	for (unsigned i = 0; i < TREE_COUNT; i++) {
		bool is_needed = i < TREE_OVER_0;

		if (base_dir_find(&place, tree_names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
		                  &ret->fds[i], is_needed ? err : &ignored) < 0 &&
		    is_needed)
			return -1;
	}
	return 0;
}

struct telling {
	struct files *files;
	struct arena links; /* of one */
	uint64_t count, count_max;
};

static int send_difference(struct compare *c, const struct difference *d, struct error *err)
{
	struct telling *t = c->context;
	struct agent_difference out = {
	        .path = d->path, .kind = d->kind, .flags = d->is_cut ? AGENT_IS_CUT : 0};
	struct buf *frames = &t->files->out;

	if (t->count == t->count_max)
		return 1;
	t->count++;
	arena_reset(&t->links);
	for (unsigned i = 0; i < 2; i++) {
		const struct stat *s = &d->status[i];

		if (s->st_mode == 0)
			continue;
		out.type[i] = file_type_of(s);
		out.mode[i] = s->st_mode;
		out.uid[i] = s->st_uid;
		out.gid[i] = s->st_gid;
		out.size[i] = S_ISREG(s->st_mode) ? (uint64_t)s->st_size : 0;
		if (S_ISLNK(s->st_mode))
			out.link[i] = file_link(&t->links, d->folders->fds[i], d->name);
	}
	if (frames->size_max - frames->size < 4 * WIRE_HEAD_SIZE + 4 * BASE_DIR_PATH_MAX)
		files_flush(t->files);
	return wire_encode(frames, AGENT_DIFFERENCE, agent_difference_shape, &out, err);
}

int files_compare(struct files *f, const struct agent_path *m, struct error *err)
{
	struct telling t = {.files = f, .count_max = files_entries_max(m)};
	struct compare c = {.on_difference = send_difference, .context = &t, .read_max = READ_MAX};
	AUTO(tree_folders_close) struct tree_folders trees;
	int result = trees_open(f, m, &trees, err);

	if (result == 0)
		result = compare_run(&c, &trees, m->path, m->target, err);
	arena_done(&t.links);
	if (result < 0)
		return -1;
	files_flush(f);
	files_send_done(f, t.count);
	return 1;
}

/* One entry of the base. */
static int pack_base_entry(struct tar_out *t, int folder, const char *path, const char *name,
                           struct error *err)
{
	struct walk_entry entry = {.folder = folder, .name = name, .path = path};

	if (fstatat(folder, name, &entry.status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "stat '%s'", path);
	return tar_out_add(t, &entry, err);
}

static int pack_difference(struct compare *c, const struct difference *d, struct error *err)
{
	if (d->kind == AGENT_ADDED)
		return 0;
	return pack_base_entry(c->context, d->folders->fds[TREE_BASE], d->path, d->name, err);
}

/* A missing folder on the way comes first, as in the base. */
static int pack_parents(struct tar_out *t, const struct tree_folders *roots, const char *path,
                        struct error *err)
{
	AUTO_CLOSE int base = fcntl(roots->fds[TREE_BASE], F_DUPFD_CLOEXEC, 3);
	AUTO_CLOSE int now = fcntl(roots->fds[TREE_NOW], F_DUPFD_CLOEXEC, 3);
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	for (const char *end = strchr(path, '/'); end && base >= 0; end = strchr(end + 1, '/')) {
		const char *part =
		        arena_copy(&t->files->arena, (struct span){path, (size_t)(end - path)});
		const char *slash = strrchr(part, '/');
		const char *name = slash ? slash + 1 : part;
		int next_base = openat(base, name, flags);
		int next_now = now < 0 ? -1 : openat(now, name, flags);

		if (next_base >= 0 && next_now < 0 &&
		    pack_base_entry(t, base, part, name, err) < 0) {
			(void)close(next_base);
			return -1;
		}
		fd_forget(&base);
		fd_forget(&now);
		base = next_base;
		now = next_now;
	}
	return 0;
}

int files_tar_base(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(tar_out_done) struct tar_out t = {.files = f};
	struct compare c = {.on_difference = pack_difference, .context = &t, .read_max = READ_MAX};
	AUTO(tree_folders_close) struct tree_folders trees;

	if (trees_open(f, m, &trees, err) < 0)
		return -1;
	files_send(f, AGENT_READY, NULL, NULL);
	if (pack_parents(&t, &trees, m->path, err) < 0 ||
	    compare_run(&c, &trees, m->path, m->target, err) < 0)
		return -1;
	tar_out_end(&t);
	return 1; /* NOLINT(clang-analyzer-unix.Malloc): AUTO frees */
}
