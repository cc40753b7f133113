/* SPDX-License-Identifier: Apache-2.0 */
/* Files from one sandbox to another. A stage's content is hostile: its own agent finds and packs
 * the files, and the agent of the next sandbox unpacks them. Between them they are bytes that
 * nothing here looks into. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "config/config.h"
#include "fleet/build/build_sandbox.h"
#include "fleet/core/fleet_state.h"
#include "provider/agent_reader.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define MATCHES_MAX 1000
#define MODE_DEFAULT 0644

struct build_export_item {
	bool is_folder; /* a tar of its contents; else the bytes of a file */
	const char *name;
	uint32_t mode, uid, gid;
	int64_t begin, end;
};

void build_export_close(struct build_export *e)
{
	auto_close(&e->fd);
}

bool build_export_is_file(const struct build_export *e)
{
	return e->count == 1 && !e->items[0].is_folder;
}

static int open_unnamed(struct build *b, int *ret_fd, struct error *err)
{
	*ret_fd = open(arena_format(&b->arena, "%s/builds", b->fleet->config->data_dir),
	               O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "make a file for a stage's files") : 0;
}

/* The data of the answer to the end of the file. */
static int receive_data(struct build *b, struct agent_reader *r, int fd, int64_t *size,
                        struct error *err)
{
	while (!r->has_ended) {
		int result = build_receive_message(b, r, b->deadline, err);
		struct span bytes = buf_span(&r->payload);

		if (result == 0)
			return FAIL(err, ERROR_TIMEOUT, "the build took longer than it may");
		if (result < 0)
			return -1;
		if (r->type != AGENT_DATA)
			continue;
		*size += (int64_t)bytes.size;
		if (*size > BUILD_FILES_MAX)
			return FAIL(err, ERROR_TOO_LARGE, "files of a stage: more than %lld bytes",
			            (long long)BUILD_FILES_MAX);
		if (fd_write_all(fd, bytes.data, bytes.size, err) < 0)
			return FAIL_CONTEXT(err, "keep the files of a stage");
	}
	return 0;
}

struct exporter {
	struct build_sandbox box;
	struct build_export *to;
	int64_t size;
	const char **matches;
	size_t match_count;
};

static void exporter_done(struct exporter *x)
{
	build_sandbox_close(&x->box);
}

static int export_content(struct exporter *x, uint16_t type, const char *path, struct error *err)
{
	const struct agent_path message = {.root = "", .path = path, .target = "", .user = ""};
	const struct compute_request request = {type, agent_path_shape, &message, NULL};
	AUTO(agent_reader_done) struct agent_reader r = {.provider = NULL};

	if (build_open_call(&x->box, &r, &request, err) < 0)
		return -1;
	return receive_data(x->box.build, &r, x->to->fd, &x->size, err);
}

static int export_path(struct exporter *x, const char *path, struct error *err)
{
	struct build *b = x->box.build;
	struct build_export *to = x->to;
	const struct agent_path message = {.root = "", .path = path, .target = "", .user = ""};
	const struct compute_file look = {AGENT_STAT, &message, deadline_after(CALL_TIMEOUT_MS)};
	struct build_export_item item = {.name = path_last(path), .begin = x->size};
	struct agent_file found;

	if (compute_file(b->fleet->provider, x->box.id, &b->arena, &look, &found, err) < 0)
		return FAIL_CONTEXT(err, "'%.200s' of the stage", path);
	if (found.type != AGENT_FILE_FOLDER && found.type != AGENT_FILE_REGULAR)
		return FAIL(err, ERROR_INVALID, "'%.200s' of the stage is no file and no folder",
		            path);
	item.is_folder = found.type == AGENT_FILE_FOLDER;
	item.mode = found.mode;
	item.uid = found.uid;
	item.gid = found.gid;
	if (export_content(x, item.is_folder ? AGENT_TAR_OUT : AGENT_READ, path, err) < 0)
		return FAIL_CONTEXT(err, "'%.200s' of the stage", path);
	item.end = x->size;
	to->items = arena_grow(&b->arena, to->items, to->count, &to->capacity, sizeof(*to->items));
	to->items[to->count++] = item;
	return 0;
}

static int on_match(void *context, const void *file, UNUSED struct error *err)
{
	struct exporter *x = context;
	const struct agent_file *found = file;

	if (x->match_count < MATCHES_MAX)
		x->matches[x->match_count++] = arena_text(&x->box.build->arena, found->path);
	return 0;
}

/* The pattern begins in the last folder before its first special character. */
static int export_matches(struct exporter *x, const char *pattern, struct error *err)
{
	struct build *b = x->box.build;
	size_t size = strcspn(pattern, "*?[");
	const char *folder;

	while (size > 1 && pattern[size - 1] != '/')
		size--;
	folder = arena_copy(&b->arena, (struct span){pattern, size});
	const struct agent_path message = {.root = "",
	                                   .path = folder,
	                                   .target = pattern + size,
	                                   .user = "",
	                                   .size_max = MATCHES_MAX};
	const struct compute_file glob = {AGENT_GLOB, &message, deadline_after(CALL_TIMEOUT_MS),
	                                  on_match, x};

	x->matches = ARENA_ARRAY(&b->arena, const char *, MATCHES_MAX);
	x->match_count = 0;
	if (compute_file(b->fleet->provider, x->box.id, &b->arena, &glob, NULL, err) < 0)
		return FAIL_CONTEXT(err, "'%.200s' of the stage", pattern);
	if (x->match_count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "'%.200s' matches nothing in the stage", pattern);
	if (x->match_count == MATCHES_MAX)
		return FAIL(err, ERROR_LIMIT, "'%.200s' matches %d files or more", pattern,
		            MATCHES_MAX);
	for (size_t i = 0; i < x->match_count; i++) {
		const char *path;

		if (path_resolve(&b->arena, folder, span_of(x->matches[i]), &path, err) < 0 ||
		    export_path(x, path, err) < 0)
			return -1;
	}
	return 0;
}

int build_export_open(struct build *b, const struct build_stage_end *stage,
                      const char *const *paths, struct build_export *ret, struct error *err)
{
	const struct build_root root = {.template = stage->source.id, .layer = stage->path.layer};
	AUTO(exporter_done) struct exporter x = {.to = ret};

	*ret = (struct build_export){.fd = -1};
	if (open_unnamed(b, &ret->fd, err) < 0 || build_sandbox_open_at(b, &root, &x.box, err) < 0)
		return -1;
	for (; *paths; paths++) {
		const char *path;

		if (path_resolve(&b->arena, "/", span_of(*paths), &path, err) < 0 ||
		    (strpbrk(path, "*?[") ? export_matches(&x, path, err)
		                          : export_path(&x, path, err)) < 0)
			return -1;
	}
	return 0;
}

static bool is_folder_inside(struct build_sandbox *box, const char *path)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_path message = {.root = "", .path = path, .target = "", .user = ""};
	const struct compute_file look = {AGENT_STAT, &message, deadline_after(CALL_TIMEOUT_MS)};
	struct error ignored = {0};
	struct agent_file found;

	return compute_file(box->build->fleet->provider, box->id, &arena, &look, &found,
	                    &ignored) == 0 &&
	       found.type == AGENT_FILE_FOLDER;
}

static int remove_old(struct build_sandbox *box, const char *path, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_path message = {
	        .root = "", .path = path, .target = "", .user = "", .flags = AGENT_PATH_MAY_EXIST};
	const struct compute_file call = {AGENT_REMOVE, &message, deadline_after(CALL_TIMEOUT_MS)};

	return compute_file(box->build->fleet->provider, box->id, &arena, &call, NULL, err);
}

/* The old file goes first: neither its mode nor the target of a link is kept. */
static int send_as_file(struct build_sandbox *box, const struct build_file *file,
                        const struct build_transfer *bytes, struct error *err)
{
	struct build_transfer upload = *bytes;

	const struct agent_path message = {.root = file->owner,
	                                   .path = file->path,
	                                   .target = "",
	                                   .user = "",
	                                   .flags = AGENT_PATH_PARENTS |
	                                            (*file->owner ? AGENT_PATH_AT_HOME : 0) |
	                                            (file->no_replace ? AGENT_PATH_NO_REPLACE : 0),
	                                   .mode = file->mode ? file->mode : MODE_DEFAULT};

	upload.type = AGENT_WRITE;
	upload.message = &message;
	if ((!file->no_replace && remove_old(box, file->path, err) < 0) ||
	    build_sandbox_send(box, &upload, err) < 0)
		return FAIL_CONTEXT(err, "'%.200s'", file->path);
	return 0;
}

int build_sandbox_write(struct build_sandbox *box, const struct build_file *file, struct error *err)
{
	const struct build_transfer upload = {.fd = -1, .text = file->text};

	return send_as_file(box, file, &upload, err);
}

static int place_folder(struct build_sandbox *box, const struct build_export *e,
                        const struct build_export_item *item, const struct build_place *place,
                        struct error *err)
{
	const struct agent_path message = {
	        .root = "",
	        .path = place->path,
	        .target = place->user ? place->user : "",
	        .user = "",
	        .flags = AGENT_PATH_PARENTS | (place->user && *place->user ? 0 : AGENT_PATH_OWNERS),
	        .mode = build_parse_mode(place->mode)};
	const struct build_transfer upload = {.type = AGENT_TAR_IN,
	                                      .message = &message,
	                                      .fd = e->fd,
	                                      .begin = item->begin,
	                                      .end = item->end};

	return build_sandbox_send(box, &upload, err);
}

static int place_file(struct build_sandbox *box, const struct build_export *e,
                      const struct build_export_item *item, const struct build_place *place,
                      struct error *err)
{
	struct arena *a = &box->build->arena;
	bool is_in_folder = place->is_folder || e->count > 1 || is_folder_inside(box, place->path);
	const struct build_file file = {
	        .path = !is_in_folder ? place->path
	                              : arena_format(a, "%s%s%s", place->path,
	                                             place->path[1] ? "/" : "", item->name),
	        .owner = place->user && *place->user
	                         ? place->user
	                         : arena_format(a, "%u:%u", item->uid, item->gid),
	        .mode = place->mode && *place->mode ? build_parse_mode(place->mode) : item->mode};
	const struct build_transfer upload = {.fd = e->fd, .begin = item->begin, .end = item->end};

	return send_as_file(box, &file, &upload, err);
}

int build_export_place(struct build_sandbox *box, const struct build_export *e,
                       const struct build_place *place, struct error *err)
{
	for (size_t i = 0; i < e->count; i++) {
		const struct build_export_item *item = &e->items[i];

		if ((item->is_folder ? place_folder(box, e, item, place, err)
		                     : place_file(box, e, item, place, err)) < 0)
			return -1;
	}
	return 0;
}
