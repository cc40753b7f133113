/* SPDX-License-Identifier: Apache-2.0 */
/* Files for copy steps. They go neither through the loop nor through memory: the relay sends the
 * body, framed, into a socket pair; a worker at its other end writes it to a file. */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/build_upload.h"
#include "api/native/builds.h"
#include "api/stream.h"
#include "base/clock.h"
#include "base/fd.h"

#define UPLOADS_MAX 4
#define IDLE_MS 120000
#define ANSWER_MS 10000

struct files_answer {
	const char *hash;
	bool present;
	int64_t size_bytes;
};
static const struct json_member build_files_shape_members[] = {
        JSON_TEXT_MEMBER(files_answer, hash),
        JSON_BOOL_MEMBER(files_answer, present),
        JSON_WHOLE_MEMBER(files_answer, size_bytes, .about = "of the tar, unpacked"),
        JSON_END,
};
JSON_SHAPE(build_files_shape, "BuildFiles", files_answer,
           "Files that a copy step can name; they go a day after they were last used");

int build_files_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	struct files_answer out = {.hash = request_param(rq, "hash")};

	if (fleet_build_files_find(api_of(rq)->fleet, api_project(rq), out.hash, &out.present,
	                           &out.size_bytes, err) < 0)
		return -1;
	reply_json(reply, &build_files_shape, &out);
	return 0;
}

/* ---- the worker's end ---- */

struct upload {
	struct worker_task task;
	struct arena arena;
	struct api *api;
	const char *project_id, *hash;
	int fd;
};

static int receive(struct upload *u, struct build_files *files, struct error *err)
{
	AUTO(buf_done) struct buf payload = BUF(WIRE_PAYLOAD_MAX);
	uint16_t type = AGENT_DATA;
	int64_t size = 0;

	while (type == AGENT_DATA) {
		if (wire_receive(u->fd, deadline_in(IDLE_MS), &type, &payload, err) < 0)
			return FAIL_CONTEXT(err, "receive the files");
		size += (int64_t)payload.size;
		if (size > BUILD_FILES_MAX)
			return FAIL(err, ERROR_TOO_LARGE, "files of a copy step: at most %d GiB",
			            (int)(BUILD_FILES_MAX >> 30));
		if (type == AGENT_DATA &&
		    fleet_build_files_write(files, buf_span(&payload), err) < 0)
			return -1;
	}
	return 0;
}

static int keep(struct upload *u, int64_t *ret_size, struct error *err)
{
	struct build_files *files;
	int status;

	if (fleet_build_files_new(u->api->fleet, &files, err) < 0)
		return -1;
	status = receive(u, files, err);
	if (status == 0)
		status = fleet_build_files_keep(files, u->project_id, u->hash, ret_size, err);
	fleet_build_files_free(files);
	return status;
}

static void write_outcome(struct upload *u, struct buf *out)
{
	AUTO(buf_done) struct buf json = BUF(4096);
	struct files_answer answer = {.hash = u->hash, .present = true};
	struct error err = {0}, ignored;
	struct agent_failed failed;

	if (keep(u, &answer.size_bytes, &err) == 0) {
		json_write(&json, &build_files_shape, &answer);
		wire_add_frame(out, AGENT_DATA, buf_span(&json));
		return;
	}
	failed = (struct agent_failed){(uint32_t)err.code, (uint32_t)err.sys_errno, err.text,
	                               err.hint};
	if (wire_encode(out, AGENT_FAILED, agent_failed_shape, &failed, &ignored) < 0)
		buf_reset(out); /* the closed socket tells that it failed */
}

static void upload_free(struct upload *u)
{
	(void)__atomic_sub_fetch(&u->api->build_uploads, 1, __ATOMIC_RELAXED);
	auto_close(&u->fd);
	arena_done(&u->arena);
	free(u);
}

/* Closing while the relay still writes would tell it of a broken pipe instead of the answer. */
static void drain(int fd)
{
	int64_t deadline = deadline_in(ANSWER_MS);
	char bytes[4096];
	struct error ignored;

	while (fd_wait(fd, POLLIN, deadline, &ignored) > 0 && read(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void on_worker(struct worker_task *task)
{
	struct upload *u = CONTAINER_OF(task, struct upload, task);
	AUTO(buf_done) struct buf frames = BUF(2 * AGENT_DATA_MAX);
	struct error ignored;

	write_outcome(u, &frames);
	if (wire_send(u->fd, buf_span(&frames), deadline_in(ANSWER_MS), &ignored) == 0)
		drain(u->fd);
	upload_free(u);
}

/* ---- the relay's end ---- */

static int on_message(UNUSED struct stream *s, struct relay *relay, uint16_t type,
                      struct span payload, struct error *err)
{
	if (type != AGENT_DATA)
		return stream_unexpected(type, err);
	relay_answer(relay, 201, "application/json", payload);
	return 0;
}

static int on_client(UNUSED struct stream *s, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	stream_send_bytes(relay, AGENT_DATA, bytes);
	return last ? stream_send(relay, AGENT_DATA_END, NULL, NULL, err) : 0;
}

static const struct stream_ops upload_ops = {
        .size = sizeof(struct stream), .on_message = on_message, .on_client = on_client};

static int upload_new(struct request *rq, const struct build_upload *files, struct upload **ret,
                      struct error *err)
{
	struct api *api = api_of(rq);
	struct upload *u;

	if (__atomic_add_fetch(&api->build_uploads, 1, __ATOMIC_RELAXED) > UPLOADS_MAX) {
		(void)__atomic_sub_fetch(&api->build_uploads, 1, __ATOMIC_RELAXED);
		return FAIL(err, ERROR_LIMIT, "%d uploads for builds are running already",
		            UPLOADS_MAX);
	}
	u = calloc(1, sizeof(*u));
	if (!u)
		abort();
	u->api = api;
	u->fd = -1;
	u->project_id = arena_text(&u->arena, files->project_id);
	u->hash = arena_text(&u->arena, files->hash);
	u->task = (struct worker_task){.lane = WORKER_SLOW,
	                               .run = on_worker,
	                               .shares = {worker_share_id(files->project_id)}};
	*ret = u;
	return 0;
}

int build_upload_start(struct request *rq, const struct build_upload *files, struct reply *reply,
                       struct error *err)
{
	struct fleet_hold none = {.fleet = NULL};
	struct stream_options options = {.fd = -1};
	struct upload *u;
	int pair[2];

	if (build_files_check(files->hash, err) < 0)
		return FAIL_CONTEXT(err, "hash");
	if (upload_new(rq, files, &u, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		upload_free(u);
		return FAIL_ERRNO(err, "make a socket pair");
	}
	options.fd = pair[0];
	u->fd = pair[1];
	if (worker_submit(api_of(rq)->workers, &u->task, err) < 0) {
		upload_free(u);
		(void)close(pair[0]);
		return -1;
	}
	stream_start(stream_new(&upload_ops, &none), reply, &options);
	return 0;
}

int build_files_put(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	const struct build_upload files = {api_project(rq), request_param(rq, "hash")};

	return build_upload_start(rq, &files, reply, err);
}
