/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/path.h"
#include "cli/files/archive.h"
#include "cli/core/progress.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"

#define PROGRESS_EVERY_MS 200

struct file_transfer {
	struct cli *cli;
	struct progress_line progress;
	struct arena arena; /* of progress lines */
	int64_t told_at;
	const char *name; /* in progress lines */
	int out_fd;       /* target of a download */
	mode_t mode;      /* of the downloaded file, before the umask */
	struct error failure;
	bool failed; /* writing to out_fd failed */
};

const char *transfer_place(struct arena *a, const char *target, bool target_is_folder,
                           const char *name)
{
	size_t size = strlen(target);
	bool ends_open = size > 0 && target[size - 1] == '/';

	if (!target_is_folder && !ends_open && size > 0)
		return target;
	return arena_format(a, "%s%s%s", target, size > 0 && !ends_open ? "/" : "", name);
}

static void on_progress(void *context, int64_t sent, int64_t received)
{
	struct file_transfer *t = context;
	int64_t now = clock_monotonic_ms();

	if (now - t->told_at < PROGRESS_EVERY_MS)
		return;
	t->told_at = now;
	arena_reset(&t->arena);
	progress_show_passing(
	        &t->progress, &t->arena,
	        arena_format(
	                &t->arena, "%s: %s", t->name,
	                text_out_bytes(&t->arena, (double)(sent > received ? sent : received))));
}

static bool on_body(void *context, struct span piece)
{
	struct file_transfer *t = context;

	if (fd_write_all(t->out_fd, piece.data, piece.size, &t->failure) == 0)
		return true;
	t->failed = true;
	return false;
}

static int call_with_progress(struct file_transfer *t, struct http_call *http)
{
	struct http_answer answer = {0};
	int result;

	http->on_progress = on_progress;
	http->context = t;
	t->told_at = clock_monotonic_ms();
	result = http_client_call(t->cli->client, http, &answer, t->cli->err);
	buf_done(&answer.body);
	progress_end(&t->progress);
	arena_done(&t->arena);
	return result;
}

/* Gets the entry of a path in the sandbox; `is_folder` follows links, as a write would. */
static int stat_remote(struct cli *cli, const char *sandbox, const char *path,
                       const struct json_value **ret)
{
	const char *suffix =
	        escaped_path(cli->arena, "/files/stat?follow=true&path=", path[0] ? path : ".", "");

	return server_get(cli, instance_path(cli->arena, sandbox, suffix), ret);
}

static bool is_folder(const struct json_value *entry)
{
	return strcmp(json_get_text(entry, "type", ""), "directory") == 0;
}

static const char *content_path(struct cli *cli, const char *sandbox, const char *kind,
                                const char *path, const char *rest)
{
	return instance_path(cli->arena, sandbox, escaped_path(cli->arena, kind, path, rest));
}

static int send_file(struct file_transfer *t, struct http_call *http, int fd,
                     const struct stat *status)
{
	http->content_type = "application/octet-stream";
	http->body_fd = fd;
	http->has_body_fd = true;
	http->body_fd_size = S_ISREG(status->st_mode) ? status->st_size : -1;
	return call_with_progress(t, http);
}

static int pack_folder(void *path, int fd, struct error *err)
{
	return archive_pack(path, fd, err);
}

static int unpack_folder(void *path, int fd, struct error *err)
{
	return archive_unpack(fd, path, err);
}

static int send_folder(struct file_transfer *t, struct http_call *http, const char *local)
{
	struct archive_thread packer = {pack_folder, arena_text(t->cli->arena, local)};

	if (archive_thread_start(&packer, t->cli->err) < 0)
		return -1;
	http->content_type = "application/x-tar";
	http->has_body_fd = true;
	http->body_fd = packer.other_fd;
	http->body_fd_size = -1;
	return archive_thread_end(&packer, call_with_progress(t, http), t->cli->err);
}

int transfer_send(struct cli *cli, const char *method, const char *path, const char *local)
{
	AUTO_CLOSE int fd = open(local, O_RDONLY | O_CLOEXEC);
	struct file_transfer t = {.cli = cli, .name = local};
	struct http_call http = {.method = method, .path = path};
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return FAIL_ERRNO(cli->err, "open '%s'", local);
	if (S_ISDIR(status.st_mode))
		return send_folder(&t, &http, local);
	return send_file(&t, &http, fd, &status);
}

/* The last name of a local path; "dir/" and "." have one, too. */
static const char *local_name(struct arena *a, const char *local)
{
	char *copy = arena_text(a, local);
	char resolved[PATH_SIZE_MAX];
	size_t size = strlen(copy);

	while (size > 1 && copy[size - 1] == '/')
		copy[--size] = '\0';
	if ((strcmp(path_last(copy), ".") == 0 || strcmp(path_last(copy), "..") == 0) &&
	    realpath(copy, resolved))
		copy = arena_text(a, resolved);
	return path_last(copy);
}

static int place_inside(struct cli *cli, const char *sandbox, const char *remote, const char *name,
                        const char **ret)
{
	const struct json_value *entry = NULL;

	if (stat_remote(cli, sandbox, remote, &entry) < 0 && cli->err->code != ERROR_NOT_FOUND)
		return -1;
	*ret = transfer_place(cli->arena, remote, is_folder(entry), name);
	return 0;
}

int transfer_to_sandbox(struct cli *cli, const char *local, const char *sandbox, const char *remote)
{
	const char *place, *mode, *path;
	struct stat status;

	if (stat(local, &status) < 0)
		return FAIL_ERRNO(cli->err, "open '%s'", local);
	if (place_inside(cli, sandbox, remote, local_name(cli->arena, local), &place) < 0)
		return -1;
	if (S_ISDIR(status.st_mode)) {
		path = content_path(cli, sandbox, "/files/tar?path=", place, "");
		return transfer_send(cli, "POST", path, local);
	}
	mode = arena_format(cli->arena, "&mode=%04o", status.st_mode & 0777);
	path = content_path(cli, sandbox, "/files/content?path=", place, mode);
	return transfer_send(cli, "PUT", path, local);
}

static int download_body(struct file_transfer *t, const char *path)
{
	struct http_call http = {.method = "GET", .path = path, .on_body = on_body};
	int result = call_with_progress(t, &http);

	if (t->failed) {
		*t->cli->err = t->failure;
		return -1;
	}
	return result;
}

/* The entry's mode, such as "0755", without set-id bits. */
static mode_t mode_of(const struct json_value *entry)
{
	const char *text = json_get_text(entry, "mode", "");
	mode_t mode = 0;

	if (strlen(text) != 4 || strspn(text, "01234567") != 4)
		return 0666;
	for (; *text; text++)
		mode = mode << 3 | (mode_t)(*text - '0');
	return mode & 0777;
}

/* Downloads into another name and renames it at the end. */
static int download_file(struct file_transfer *t, const char *path, const char *place)
{
	struct arena *a = t->cli->arena;
	struct id id = id_new();
	const char *temporary =
	        arena_format(a, "%.*s.%s.part", (int)(path_last(place) - place), place, id.text);
	AUTO_CLOSE int fd =
	        open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, t->mode);

	if (fd < 0)
		return FAIL_ERRNO(t->cli->err, "create '%s'", place);
	t->out_fd = fd;
	if (download_body(t, path) < 0) {
		(void)unlink(temporary);
		return -1;
	}
	if (rename(temporary, place) < 0) {
		(void)FAIL_ERRNO(t->cli->err, "rename to '%s'", place);
		(void)unlink(temporary);
		return -1;
	}
	return 0;
}

static int download_folder(struct file_transfer *t, const char *path, const char *place)
{
	struct archive_thread unpacker = {unpack_folder, arena_text(t->cli->arena, place), true};
	int result;

	if (mkdir(place, 0777) < 0 && errno != EEXIST)
		return FAIL_ERRNO(t->cli->err, "make the folder '%s'", place);
	if (archive_thread_start(&unpacker, t->cli->err) < 0)
		return -1;
	t->out_fd = unpacker.other_fd;
	result = download_body(t, path);
	/* A broken pipe only follows from the unpacker's end: its result is the real one. */
	return archive_thread_end(&unpacker, t->failed ? 0 : result, t->cli->err);
}

int transfer_receive(struct cli *cli, const char *path, bool as_folder, const char *local)
{
	struct file_transfer t = {.cli = cli, .name = local, .mode = 0666};

	return as_folder ? download_folder(&t, path, local) : download_file(&t, path, local);
}

int transfer_from_sandbox(struct cli *cli, const char *sandbox, const char *remote,
                          const char *local)
{
	struct file_transfer t = {.cli = cli, .name = remote};
	const struct json_value *entry;
	const char *absolute, *place;
	struct stat status;
	bool local_is_folder = stat(local, &status) == 0 && S_ISDIR(status.st_mode);

	if (stat_remote(cli, sandbox, remote, &entry) < 0)
		return -1;
	absolute = json_get_text(entry, "path", remote);
	if (!path_name_is_valid(span_of(path_last(absolute))) && local_is_folder)
		return FAIL(cli->err, ERROR_INVALID, "'%s' has no name to be copied under", remote);
	place = transfer_place(cli->arena, local, local_is_folder, path_last(absolute));
	t.mode = mode_of(entry);
	if (is_folder(entry))
		return download_folder(
		        &t, content_path(cli, sandbox, "/files/tar?path=", absolute, ""), place);
	return download_file(&t, content_path(cli, sandbox, "/files/content?path=", absolute, ""),
	                     place);
}
