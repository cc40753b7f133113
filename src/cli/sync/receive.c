/* SPDX-License-Identifier: Apache-2.0 */
/* From the sandbox to the local folder. Bytes are written to a temporary file in the folder. It
 * replaces its target only if the target is as it was when the plan was made; otherwise it is kept
 * beside the target. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "base/path.h"
#include "cli/files/archive.h"
#include "cli/core/body.h"
#include "cli/core/server.h"
#include "cli/sync/sync.h"

/* Limits of a request, whose body is at most 1 MiB: JSON at most doubles the bytes of a name. */
#define NAMES_COUNT 10000
#define NAMES_BYTES (400 * 1024)

struct coming {
	struct folder_sync *sync;
	struct map wanted; /* of the current request: path -> struct sync_action */
	struct sync_action *action;
	struct sync_part part;
	int64_t size;
};

static bool is_wanted(const struct sync_action *a)
{
	return a->step == SYNC_DOWN || a->step == SYNC_BOTH;
}

static bool has_same_bytes(int a, int b)
{
	char one[65536], two[65536];
	off_t at = 0;

	for (;;) {
		ssize_t got = pread(a, one, sizeof(one), at),
		        other = pread(b, two, sizeof(two), at);

		if (got != other || got < 0 || memcmp(one, two, (size_t)got) != 0)
			return false;
		if (got == 0)
			return true;
		at += got;
	}
}

static bool is_the_same(struct coming *c, int parent, const char *name)
{
	const struct fd_open_options options = {.flags = O_RDONLY | O_NONBLOCK};
	AUTO_CLOSE int fd = -1;
	struct error ignored = {0};

	return fd_open_beneath(parent, name, &options, &fd, &ignored) == 0 &&
	       has_same_bytes(fd, c->part.fd);
}

/* Records that both sides have this content, so that it is skipped until one of them changes it. */
static void record_state(struct coming *c, int parent, const char *name)
{
	struct folder_sync *s = c->sync;
	struct sync_file local, remote = *c->action->remote;

	if (sync_stat_here(s, parent, name, &local) != 1)
		return;
	local.path = c->action->path;
	sync_list_add(&s->next.local, &local);
	sync_list_add(&s->next.remote, &remote);
}

static void skip_file(struct coming *c, const struct sync_action *action, const char *why)
{
	c->sync->skipped++;
	(void)fprintf(stderr, "atoll: '%s' is skipped: %s\n", action->path, why);
}

/* Compares the local file with the plan: 1 the same, 0 different, -1 not a file. */
static int compare_with_plan(struct coming *c, int parent, const char *name)
{
	struct sync_file now;
	int found = sync_stat_here(c->sync, parent, name, &now);

	if (found < 0)
		return -1;
	if (!c->action->local)
		return found == 0;
	return found == 1 && sync_file_is_same(&now, c->action->local);
}

/* Keeps the local permissions; the sandbox only decides whether the file is executable. */
static void keep_mode(struct coming *c, int parent, const char *name)
{
	mode_t runs = c->action->remote->is_program ? 0111 : 0;
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		(void)fchmod(c->part.fd, (st.st_mode & 0666) | ((st.st_mode & 0444) >> 2 & runs));
}

/* Returns what sync_replace returns. */
static int move_into_place(struct coming *c, const struct sync_place *at, const struct stat *before,
                           struct error *err)
{
	struct folder_sync *s = c->sync;

	if (c->action->local)
		return sync_replace(s, &c->part, at, before, err);
	if (renameat2(s->folder, c->part.name, at->parent, at->name, RENAME_NOREPLACE) == 0)
		return 1;
	return errno == EEXIST ? 0 : FAIL_ERRNO(err, "put '%s' in its place", at->path);
}

/* The local file stays; the sandbox's version is kept beside it. */
static int keep_both(struct coming *c, const struct sync_place *at, struct error *err)
{
	if (!sync_part_is_ours(c->sync, &c->part)) {
		/* The next run fetches it again. */
		skip_file(c, c->action, "it was moved or replaced locally meanwhile");
		return 0;
	}
	if (sync_keep_beside(c->sync, c->part.name, at, err) < 0)
		return -1;
	c->action->step = SYNC_UP;
	return 0;
}

static int place_file(struct coming *c, const struct sync_place *at, struct error *err)
{
	struct stat before = {.st_size = 0};
	int found, result = 0;

	(void)fstatat(at->parent, at->name, &before, AT_SYMLINK_NOFOLLOW);
	found = compare_with_plan(c, at->parent, at->name);
	if (found < 0) {
		skip_file(c, c->action, "a link or a folder has its name");
		return 0;
	}
	if (c->action->step == SYNC_BOTH && is_the_same(c, at->parent, at->name)) {
		record_state(c, at->parent, at->name);
		return 0;
	}
	if (c->action->step != SYNC_BOTH && found > 0) {
		keep_mode(c, at->parent, at->name);
		result = move_into_place(c, at, &before, err);
		if (result < 0)
			return -1;
	}
	if (result == 0)
		return keep_both(c, at, err);
	sync_say(c->sync, "down", at->path, NULL);
	record_state(c, at->parent, at->name);
	return 0;
}

static int begin_file(struct coming *c, struct sync_action *action, struct error *err)
{
	struct id id = id_new();
	const struct fd_open_options options = {
	        .flags = O_RDWR | O_CREAT | O_EXCL,
	        .mode = action->remote->is_program ? 0777 : 0666,
	};

	c->action = action;
	c->size = 0;
	c->part.name = arena_format(&c->sync->arena, SYNC_PART_PREFIX "%s", id.text);
	if (fd_open_beneath(c->sync->folder, c->part.name, &options, &c->part.fd, err) < 0)
		return FAIL_CONTEXT(err, "begin '%s'", action->path);
	return 0;
}

static int finish_file(struct coming *c, struct error *err)
{
	AUTO_CLOSE UNUSED int fd = c->part.fd;
	AUTO_CLOSE int parent = -1;
	struct error problem = {0};
	int result = 0;

	if (sync_open_parent(c->sync, c->action->path, true, &parent, &problem) < 0)
		skip_file(c, c->action, problem.text);
	else
		result = place_file(
		        c,
		        &(struct sync_place){parent, path_last(c->action->path), c->action->path},
		        err);
	/* After a successful rename the temporary name is free, or another program's file has
	 * it. */
	if (sync_part_is_ours(c->sync, &c->part))
		(void)unlinkat(c->sync->folder, c->part.name, 0);
	c->part.fd = -1;
	return result;
}

static void discard_file(struct coming *c)
{
	if (c->part.fd >= 0)
		(void)unlinkat(c->sync->folder, c->part.name, 0);
	auto_close(&c->part.fd);
	c->part.fd = -1;
}

static bool is_too_large(struct coming *c, const struct sync_action *action)
{
	if (action->remote->size <= c->sync->size_max)
		return false;
	skip_file(c, action, "it is larger than --max-size");
	return true;
}

static int on_piece(void *context, struct span piece, struct error *err)
{
	struct coming *c = context;

	c->size += (int64_t)piece.size;
	if (c->size > c->sync->size_max)
		return FAIL(err, ERROR_TOO_LARGE, "'%s' grows beyond --max-size", c->action->path);
	return fd_write_all(c->part.fd, piece.data, piece.size, err);
}

static int fetch_file(struct coming *c, struct sync_action *action)
{
	struct error *err = c->sync->cli->err;
	const struct http_call call = {
	        .method = "GET",
	        .path = sync_url(c->sync, "/files/content?path=", action->path, ""),
	};
	struct server_stream stream = {on_piece, c};

	if (begin_file(c, action, err) < 0)
		return -1;
	if (server_stream(c->sync->cli, &call, &stream) == 0)
		return finish_file(c, err);
	discard_file(c);
	/* The file was deleted meanwhile or is unreadable: continues with the other files. */
	if (!stream.failed && (err->code == ERROR_NOT_FOUND || err->code == ERROR_FORBIDDEN)) {
		skip_file(c, action, err->text);
		error_clear(err);
		return 0;
	}
	return FAIL_CONTEXT(err, "fetch '%s'", action->path);
}

static int on_begin(void *context, const char *name, int64_t size, int *ret_fd, struct error *err)
{
	struct coming *c = context;
	struct sync_action *action = map_remove(&c->wanted, name);

	if (!action)
		return 0;
	if (size > c->sync->size_max) {
		skip_file(c, action, "it grows beyond --max-size");
		return 0;
	}
	if (begin_file(c, action, err) < 0)
		return -1;
	*ret_fd = c->part.fd;
	return 0;
}

static int on_end(void *context, struct error *err)
{
	return finish_file(context, err);
}

static int unpack_files(void *context, int fd, struct error *err)
{
	const struct archive_taker taker = {on_begin, on_end, context};

	return archive_take(fd, &taker, err);
}

static int write_to_pipe(void *context, struct span piece, struct error *err)
{
	return fd_write_all(*(const int *)context, piece.data, piece.size, err);
}

static int fetch_stream(struct coming *c, const char *const *names)
{
	AUTO(buf_done) struct buf body = BUF((size_t)1024 * 1024);
	struct error *err = c->sync->cli->err;
	struct archive_thread unpacker = {unpack_files, c, true};
	struct http_call call = {.method = "POST"};
	struct server_stream stream = {write_to_pipe, &unpacker.other_fd};
	int result;

	body_begin(&body);
	body_add_text(&body, "path", c->sync->remote);
	body_add_texts(&body, "names", names);
	call.body = span_of(body_end(&body));
	call.path = instance_path(&c->sync->arena, c->sync->sandbox, "/files/pack");
	if (archive_thread_start(&unpacker, err) < 0)
		return -1;
	result = server_stream(c->sync->cli, &call, &stream);
	/* A broken pipe only follows from the unpacker's end: its result is the real one. */
	result = archive_thread_end(&unpacker, stream.failed ? 0 : result, err);
	discard_file(c);
	return result;
}

/* Chooses as many files as a request may name, starting at action `from`. Returns the index after
 * the last. */
static size_t choose_files(struct coming *c, size_t from, const char **names)
{
	struct sync_plan *plan = &c->sync->plan;
	size_t i, count = 0, bytes = 0;

	for (i = from; i < plan->count && count < NAMES_COUNT && bytes < NAMES_BYTES; i++) {
		struct sync_action *action = &plan->items[i];

		if (!is_wanted(action) || is_too_large(c, action))
			continue;
		map_put(&c->wanted, action->path, action);
		names[count++] = action->path;
		bytes += strlen(action->path) + 1;
	}
	names[count] = NULL;
	return i;
}

static int fetch_chosen(struct coming *c, const char **names)
{
	if (!names[0])
		return 0;
	if (!names[1])
		return fetch_file(c, map_remove(&c->wanted, names[0]));
	if (fetch_stream(c, names) < 0)
		return -1;
	for (; *names; names++) {
		struct sync_action *action = map_remove(&c->wanted, *names);

		if (action)
			skip_file(c, action, "it was deleted meanwhile or is not readable");
	}
	return 0;
}

int sync_receive_changes(struct folder_sync *s)
{
	struct coming c = {.sync = s, .part = {.fd = -1}};
	const char **names = ARENA_ARRAY(&s->arena, const char *, NAMES_COUNT + 1);
	size_t next = 0;
	int result = 0;

	while (result == 0 && next < s->plan.count) {
		next = choose_files(&c, next, names);
		result = fetch_chosen(&c, names);
	}
	map_done(&c.wanted);
	return result;
}
