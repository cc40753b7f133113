/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/build/build_sandbox.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/path.h"
#include "fleet/core/fleet_state.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/snapshot/snapshots.h"
#include "fleet/template/layers.h"
#include "provider/agent_reader.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

/* Time for the rest of a message that has begun. */
#define MESSAGE_MS 10000
/* A leftover sandbox ends by itself so long after the build. */
#define LATER_MS (10 * 60 * 1000)

static int create_sandbox(struct build *b, const struct build_root *root, struct build_sandbox *box,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct json_pair label = {SANDBOX_BUILD_LABEL, b->record.id};
	const struct build_resources *r = &b->spec.resources;
	const struct build_base base = {root->layer};
	const struct fleet_create request = {
	        .project_id = b->record.project_id,
	        .id = box->id,
	        .key_id = *b->record.key_id ? b->record.key_id : NULL,
	        .template = root->template,
	        .base = &base,
	        .mounts = root->mounts,
	        .mount_count = root->mount_count,
	        .own_labels = {&label, 1, true},
	        .resources = {r->cpu, r->memory_mb, r->disk_mb, r->pids},
	        .internet = b->spec.present >> BUILD_SPEC_INTERNET & 1 ? b->spec.internet : -1,
	        .timeouts.lifetime_max_ms = b->deadline - clock_monotonic_ms() + LATER_MS,
	        .timeouts.idle_pause_ms = -1,
	        .timeouts.idle_stop_ms = -1,
	        .traits = SANDBOX_IN_BACKGROUND,
	        .wait = true,
	};
	const struct fleet_ref ref = {b->record.project_id, box->id};
	struct sandbox_record made;

	if (request.timeouts.lifetime_max_ms < LATER_MS)
		return FAIL(err, ERROR_TIMEOUT, "the build took longer than it may");
	if (fleet_create(b->fleet, &arena, &request, &made, err) < 0)
		return -1;
	fault_point("api", "build-made");
	return fleet_hold(b->fleet, &arena, &ref, &made, &box->hold, err);
}

int build_sandbox_open(struct build *b, struct build_sandbox *ret, struct error *err)
{
	const struct build_root root = {.template = b->source.id, .layer = b->path.layer};

	return build_sandbox_open_at(b, &root, ret, err);
}

int build_sandbox_open_at(struct build *b, const struct build_root *root, struct build_sandbox *ret,
                          struct error *err)
{
	struct id id = id_new();

	if (build_is_cancelled(b))
		return build_refuse_cancelled(b, err);
	*ret = (struct build_sandbox){.build = b};
	memcpy(ret->id, id.text, sizeof(id.text));
	b->record.sandbox_id = arena_text(&b->arena, id.text);
	if (store_build_update(b->fleet->store, &b->record, err) < 0)
		return -1;
	fault_point("api", "build-recorded");
	if (create_sandbox(b, root, ret, err) == 0)
		return 0;
	build_sandbox_close(ret);
	return -1;
}

void build_sandbox_close(struct build_sandbox *box)
{
	AUTO(arena_done) struct arena arena = {0};
	struct build *b = box->build;
	struct fleet_ref ref = {.id_or_name = box->id};
	struct error err = {0};

	if (!b || !*box->id)
		return;
	fleet_unhold(&box->hold);
	ref.project_id = b->record.project_id;
	if (fleet_delete(b->fleet, &arena, &ref, SANDBOX_REASON_USER, &err) < 0 &&
	    err.code != ERROR_NOT_FOUND)
		log_warning("the sandbox of a build is left", TEXT("build", b->record.id),
		            TEXT("sandbox", box->id), FAILURE(&err));
	else
		b->record.sandbox_id = "";
	box->id[0] = '\0';
}

int build_sandbox_make_folders(struct build_sandbox *box, struct error *err)
{
	struct build *b = box->build;

	for (size_t i = 0; i < b->path.missing_count; i++) {
		AUTO(arena_done) struct arena arena = {0};
		const struct agent_path message = {
		        .root = "",
		        .path = b->path.missing[i],
		        .target = "",
		        .user = "",
		        .flags = AGENT_PATH_PARENTS | AGENT_PATH_MAY_EXIST,
		};
		const struct compute_file make = {AGENT_MKDIR, &message,
		                                  deadline_after(CALL_TIMEOUT_MS)};

		if (compute_file(b->fleet->provider, box->id, &arena, &make, NULL, err) < 0)
			return FAIL_CONTEXT(err, "workdir '%s'", b->path.missing[i]);
	}
	return 0;
}

int build_wait_until(struct build *b, int fd, int64_t deadline, struct error *err)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
	                       {.fd = b->cancel_fd, .events = POLLIN}};
	int count;

	if (fd >= 0 && deadline_poll_ms(deadline) == 0)
		return build_is_cancelled(b) ? build_refuse_cancelled(b, err) : 0;
	do {
		count = poll(fds, COUNT_OF(fds), deadline_poll_ms(deadline));
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return FAIL_ERRNO(err, "wait for a sandbox");
	if (build_is_cancelled(b))
		return build_refuse_cancelled(b, err);
	return count > 0;
}

int build_open_call(struct build_sandbox *box, struct agent_reader *ret,
                    const struct compute_request *request, struct error *err)
{
	struct build *b = box->build;
	const struct agent_limits limits = {.deadline = b->deadline, .frame_ms = MESSAGE_MS};
	int fd;

	agent_reader_init(ret, b->fleet->provider, box->id, &limits);
	if (compute_open(b->fleet->provider, box->id, request, deadline_after(CALL_TIMEOUT_MS), &fd,
	                 err) < 0)
		return -1;
	agent_reader_adopt(ret, fd, request->type);
	return 0;
}

int build_receive_message(struct build *b, struct agent_reader *r, int64_t until, struct error *err)
{
	int result = build_wait_until(b, r->fd, until, err);

	if (result <= 0)
		return result;
	return agent_reader_next(r, err) < 0 ? -1 : 1;
}

static const char **env_list(struct arena *a, const struct json_map *env,
                             const struct json_map *over)
{
	size_t count = 0, extra = over ? over->count : 0;
	const char **list = ARENA_ARRAY(a, const char *, env->count + extra + 1);

	for (size_t i = 0; i < env->count; i++)
		list[count++] = arena_format(a, "%s=%s", env->pairs[i].key, env->pairs[i].value);
	for (size_t i = 0; i < extra; i++) {
		const char *item =
		        arena_format(a, "%s=%s", over->pairs[i].key, over->pairs[i].value);
		size_t size = strlen(over->pairs[i].key) + 1, at = 0;

		while (at < count && strncmp(list[at], item, size) != 0)
			at++;
		list[at] = item;
		if (at == count)
			count++;
	}
	return list;
}

struct agent_exec build_exec_of(struct build *b, struct arena *a,
                                const struct build_command *command)
{
	return (struct agent_exec){
	        .args = command->args,
	        .env = env_list(a, &b->path.env, command->env),
	        .cwd = path_or_root(b->path.workdir),
	        .user = command->user,
	        .label = "build",
	        .flags = command->flags | AGENT_EXEC_END_ON_CLOSE,
	        .timeout_ms = (uint64_t)command->timeout_ms,
	};
}

/* 1: the command has ended. */
int build_log_output(struct build_lines *lines, const struct agent_reader *r,
                     struct agent_process *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct span payload = buf_span(&r->payload);
	struct agent_output output;

	if (r->type == AGENT_STARTED)
		return 0;
	if (r->type == AGENT_OUTPUT) {
		if (wire_decode(&arena, payload, agent_output_shape, &output, sizeof(output), err) <
		    0)
			return FAIL_CONTEXT(err, "agent");
		build_lines_add(lines, &output);
		return 0;
	}
	if (r->type != AGENT_EXIT)
		return agent_reader_refuse(r, err);
	if (wire_decode(&arena, payload, agent_process_shape, ret, sizeof(*ret), err) < 0)
		return FAIL_CONTEXT(err, "agent");
	ret->label = ret->user = ret->cwd = "";
	ret->args = NULL;
	return 1;
}

static int follow_command(struct build_sandbox *box, struct agent_reader *r,
                          struct agent_process *ret, struct error *err)
{
	AUTO(build_lines_done) struct build_lines lines = {0};
	int ended = 0;

	build_lines_init(&lines, box->build);
	while (!ended) {
		int result = build_receive_message(box->build, r, box->build->deadline, err);

		if (result == 0)
			return FAIL(err, ERROR_TIMEOUT, "the build took longer than it may");
		if (result < 0)
			return -1;
		ended = build_log_output(&lines, r, ret, err);
		if (ended < 0)
			return -1;
	}
	return 0;
}

int build_sandbox_run(struct build_sandbox *box, const struct build_command *command,
                      struct agent_process *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_exec exec = build_exec_of(box->build, &arena, command);
	const struct compute_request request = {AGENT_EXEC, agent_exec_shape, &exec, NULL};
	AUTO(agent_reader_done) struct agent_reader r = {.provider = NULL};

	return build_open_call(box, &r, &request, err) < 0 ? -1 : follow_command(box, &r, ret, err);
}

static int send_data(struct build *b, struct agent_reader *r, struct span bytes, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);

	if (build_is_cancelled(b))
		return build_refuse_cancelled(b, err);
	wire_add_frame(&frame, bytes.size > 0 ? AGENT_DATA : AGENT_DATA_END, bytes);
	return wire_send(r->fd, buf_span(&frame), deadline_after(CALL_TIMEOUT_MS), err) < 0
	               ? FAIL_CONTEXT(err, "send the files")
	               : 0;
}

static int send_file(struct build *b, struct agent_reader *r, const struct build_transfer *u,
                     struct error *err)
{
	char bytes[AGENT_DATA_MAX / 2];

	for (int64_t at = u->begin; at < u->end;) {
		size_t left = (size_t)(u->end - at);
		ssize_t got = pread(u->fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes), at);

		if (got <= 0)
			return FAIL_ERRNO(err, "read the files");
		if (send_data(b, r, (struct span){bytes, (size_t)got}, err) < 0)
			return -1;
		at += got;
	}
	return 0;
}

static int send_transfer(struct build *b, struct agent_reader *r, const struct build_transfer *u,
                         struct error *err)
{
	struct span rest = u->text;

	if (u->fd >= 0 && send_file(b, r, u, err) < 0)
		return -1;
	while (u->fd < 0 && rest.size > 0)
		if (send_data(b, r, span_take(&rest, AGENT_DATA_MAX / 2), err) < 0)
			return -1;
	return send_data(b, r, (struct span){0}, err);
}

static int receive_type(struct build *b, struct agent_reader *r, uint16_t type, struct error *err)
{
	int result = build_receive_message(b, r, b->deadline, err);

	if (result == 0)
		return FAIL(err, ERROR_TIMEOUT, "the build took longer than it may");
	if (result < 0)
		return -1;
	return r->type == type ? 0 : agent_reader_refuse(r, err);
}

uint32_t build_parse_mode(const char *mode)
{
	uint32_t value = 0;

	for (; mode && *mode; mode++)
		value = value << 3 | (uint32_t)(*mode - '0');
	return value;
}

int build_sandbox_send(struct build_sandbox *box, const struct build_transfer *upload,
                       struct error *err)
{
	struct build *b = box->build;
	const struct compute_request request = {upload->type, agent_path_shape, upload->message,
	                                        NULL};
	AUTO(agent_reader_done) struct agent_reader r = {.provider = NULL};

	if (build_open_call(box, &r, &request, err) < 0 ||
	    receive_type(b, &r, AGENT_READY, err) < 0 || send_transfer(b, &r, upload, err) < 0 ||
	    (upload->type == AGENT_WRITE && receive_type(b, &r, AGENT_FILE, err) < 0))
		return -1;
	return receive_type(b, &r, AGENT_DONE, err);
}

int build_sandbox_unpack(struct build_sandbox *box, const struct build_unpack *unpack,
                         struct error *err)
{
	const struct agent_path message = {
	        .root = "",
	        .path = unpack->path,
	        .target = unpack->user ? unpack->user : "",
	        .user = "",
	        .flags = AGENT_PATH_PARENTS,
	        .mode = build_parse_mode(unpack->mode),
	};
	struct build_transfer upload = {.type = AGENT_TAR_IN, .message = &message};
	AUTO_CLOSE int files = -1;
	struct stat status;

	if (build_files_open(box->build, unpack->files, &files, err) < 0)
		return -1;
	if (fstat(files, &status) < 0)
		return FAIL_ERRNO(err, "look at the files");
	upload.fd = files;
	upload.end = status.st_size;
	return build_sandbox_send(box, &upload, err);
}

static int64_t measure_layer(struct build_sandbox *box)
{
	struct fleet *f = box->build->fleet;
	struct provider_stats stats;

	if (!(f->ops->abilities & PROVIDER_CAN_STATS) ||
	    f->ops->stats(f->provider, box->id, &stats, &(struct error){0}) < 0 ||
	    stats.disk_bytes == UINT64_MAX)
		return 0;
	return (int64_t)stats.disk_bytes;
}

int build_sandbox_keep(struct build_sandbox *box, struct build_layer *ret, struct error *err)
{
	struct build *b = box->build;
	const struct fleet_ref ref = {b->record.project_id, box->id};
	const struct fleet_snapshot request = {.sync = true, .kind = SNAPSHOT_LAYER};
	struct sandbox_record stopped;
	struct snapshot_record made;

	ret->size_bytes = measure_layer(box);
	fleet_unhold(&box->hold);
	/* No process of the step may still write. */
	if (fleet_stop(b->fleet, &b->arena, &ref, &stopped, err) < 0 ||
	    fleet_snapshot(b->fleet, &b->arena, &ref, &request, &made, err) < 0)
		return -1;
	ret->id = made.id;
	ret->depth = made.depth;
	layer_pin(b->fleet, made.id);
	fault_point("api", "build-kept");
	return 0;
}
