/* SPDX-License-Identifier: Apache-2.0 */
#include "server_backup/calls.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/id.h"
#include "http/client/client.h"
#include "json/json.h"

#define CALL_MS 60000
#define INSTANCES "/api/sandbox/instances/"
#define SNAPSHOTS "/api/sandbox/snapshots/"
#define NAME_PREFIX "server-backup-"
#define NOTES_MAX ((size_t)16 << 20)

struct api_call {
	const char *method, *path, *body, *project;
};

static int call_server(struct server_calls *c, const struct api_call *call,
                       const struct json_value **ret, struct error *err)
{
	const struct http_call request = {
	        .method = call->method,
	        .path = call->path,
	        .project = call->project,
	        .body = span_of(call->body),
	        .timeout_ms = CALL_MS,
	};
	struct http_answer answer = {0};
	int result = 0;

	if (http_client_call(c->client, &request, &answer, err) < 0)
		return -1;
	if (ret)
		*ret = NULL;
	if (ret && answer.body.size > 0)
		result = json_load(c->arena, span_of(arena_copy(c->arena, buf_span(&answer.body))),
		                   ret, err);
	buf_done(&answer.body);
	return result;
}

/* Sandboxes go on without a server, and nothing holds them then. */
static int check_quiet(const char *data_dir, struct error *err)
{
	AUTO_CLOSE int data = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int runs = data < 0 ? -1
	                               : openat(data, "run/sandboxes",
	                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO(folder_list_done) DIR *list = runs < 0 ? NULL : folder_list(runs);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)FAIL(err, ERROR_CONFLICT,
		           "no server runs on '%.120s', but its sandboxes may run", data_dir);
		return FAIL_HINT(err, "start the server, or end its sandboxes with 'atoll down'");
	}
	return 0;
}

static int open_client(struct server_calls *c, const char *data_dir, struct error *err)
{
	AUTO(buf_done) struct buf key = BUF(1024);
	struct http_client_options options = {
	        .unix_socket = arena_format(c->arena, "%s/run/api.sock", data_dir),
	        .user_agent = "atoll-backup",
	};

	if (file_read(AT_FDCWD, arena_format(c->arena, "%s/admin.key", data_dir), &key, err) < 0)
		return FAIL_CONTEXT(err, "read the server's first key");
	options.bearer = arena_copy(c->arena,
	                            (struct span){buf_text(&key), strcspn(buf_text(&key), "\r\n")});
	return http_client_open(&options, &c->client, err);
}

int server_calls_open(struct server_calls *c, const char *data_dir, struct error *err)
{
	const char *lock = arena_format(c->arena, "%s/run/atolld.lock", data_dir);

	c->notes = arena_format(c->arena, "%s/run/backup.notes", data_dir);
	c->lock_fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (c->lock_fd < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "open '%s'", lock);
	if (c->lock_fd < 0)
		return FAIL(err, ERROR_NOT_FOUND, "'%s' is no data folder of a server", data_dir);
	if (flock(c->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return check_quiet(data_dir, err);
	fd_forget(&c->lock_fd);
	return open_client(c, data_dir, err);
}

void server_calls_close(struct server_calls *c)
{
	http_client_close(c->client);
	fd_forget(&c->lock_fd);
}

int server_calls_state(struct server_calls *c, const struct backed_sandbox *s, const char **ret,
                       struct error *err)
{
	const struct api_call call = {
	        .method = "GET",
	        .path = arena_format(c->arena, INSTANCES "%s", s->id),
	        .project = s->project,
	};
	const struct json_value *answer;

	*ret = "";
	if (call_server(c, &call, &answer, err) == 0)
		*ret = json_get_text(answer, "state", "");
	else if (err->code != ERROR_NOT_FOUND)
		return -1;
	return 0;
}

static int note_snapshot(struct server_calls *c, const char *project, const char *name,
                         struct error *err)
{
	AUTO_CLOSE int fd =
	        open(c->notes, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	const char *line = arena_format(c->arena, "%s %s\n", project, name);

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", c->notes);
	return fd_write_all(fd, line, strlen(line), err);
}

int server_calls_snapshot(struct server_calls *c, const struct backed_sandbox *s,
                          const char **ret_id, struct error *err)
{
	/* A name that no user has chosen: what is noted gets removed. */
	const char *name = arena_format(c->arena, NAME_PREFIX "%s", id_new().text);
	const struct api_call call = {
	        .method = "POST",
	        .path = arena_format(c->arena, INSTANCES "%s/snapshot", s->id),
	        .body = arena_format(c->arena, "{\"name\":\"%s\",\"sync\":false}", name),
	        .project = s->project,
	};
	const struct json_value *answer;

	if (note_snapshot(c, s->project, name, err) < 0 || call_server(c, &call, &answer, err) < 0)
		return -1;
	*ret_id = json_get_text(answer, "id", NULL);
	return *ret_id ? 0 : FAIL(err, ERROR_SYSTEM, "the server's answer has no snapshot");
}

static int forget_snapshot(struct server_calls *c, struct span project, struct span name,
                           struct error *err)
{
	const struct api_call call = {
	        .method = "DELETE",
	        .path = arena_format(c->arena, SNAPSHOTS "%s", arena_copy(c->arena, name)),
	        .project = arena_copy(c->arena, project),
	};

	if (call_server(c, &call, NULL, err) == 0 || err->code == ERROR_NOT_FOUND)
		return 0;
	return FAIL_CONTEXT(err, "remove a snapshot of the backup");
}

int server_calls_forget_snapshots(struct server_calls *c, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(NOTES_MAX);
	struct span rest, line, project;

	if (!c->client || access(c->notes, F_OK) < 0)
		return 0;
	if (file_read(AT_FDCWD, c->notes, &text, err) < 0)
		return -1;
	rest = buf_span(&text);
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (span_split(&line, ' ', &project) && span_starts_with(line, NAME_PREFIX) &&
		    forget_snapshot(c, project, line, err) < 0)
			return -1;
	}
	return unlink(c->notes) < 0 ? FAIL_ERRNO(err, "remove '%s'", c->notes) : 0;
}

static int post_verb(struct server_calls *c, const struct backed_sandbox *s, const char *verb,
                     struct error *err)
{
	const struct api_call call = {
	        .method = "POST",
	        .path = arena_format(c->arena, INSTANCES "%s/%s", s->id, verb),
	        .body = "{}",
	        .project = s->project,
	};

	return call_server(c, &call, NULL, err);
}

int server_calls_pause(struct server_calls *c, const struct backed_sandbox *s, bool *ret_paused,
                       struct error *err)
{
	const char *state;

	*ret_paused = false;
	if (!c->client)
		return 0;
	if (server_calls_state(c, s, &state, err) < 0)
		return -1;
	if (strcmp(state, "started") != 0)
		return 0;
	if (post_verb(c, s, "pause", err) < 0)
		return FAIL_CONTEXT(err, "pause sandbox '%s'", s->id);
	*ret_paused = true;
	return 0;
}

int server_calls_resume(struct server_calls *c, const struct backed_sandbox *s, bool *ret_kept,
                        struct error *err)
{
	const char *state;

	if (server_calls_state(c, s, &state, err) < 0)
		return -1;
	*ret_kept = strcmp(state, "paused") == 0;
	if (*ret_kept && post_verb(c, s, "resume", err) < 0 && err->code != ERROR_NOT_FOUND)
		return FAIL_CONTEXT(err, "resume sandbox '%s'", s->id);
	return 0;
}
