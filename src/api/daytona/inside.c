/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daytona/inside.h"

#include <unistd.h>

int inside_run(struct request *rq, const struct api_target *t, const struct inside_run *run,
               struct compute_result *ret, struct error *err)
{
	const struct agent_exec exec = {
	        .args = run->args,
	        .env = t->defaults.env,
	        .cwd = run->cwd ? run->cwd : "",
	        .user = t->defaults.user,
	        .stdin_bytes = run->stdin_bytes,
	};
	const struct compute_run options = {
	        .exec = &exec, .out_max = run->out_max, .deadline = rq->deadline};

	if (provider_require(t->hold.provider, PROVIDER_CAN_EXEC, err) < 0)
		return -1;
	return compute_run(t->hold.provider, t->hold.id, rq->arena, &options, ret, err);
}

const char *inside_complaint(struct arena *a, const struct compute_result *result)
{
	struct span rest = result->out[1], line;
	char *text;

	(void)span_split(&rest, '\n', &line);
	if (line.size > ERROR_TEXT_MAX / 2)
		line.size = ERROR_TEXT_MAX / 2;
	text = arena_copy(a, line);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return text;
}

int inside_file(struct request *rq, const struct api_target *t, const struct files_call *call,
                struct agent_file *ret, struct error *err)
{
	struct agent_file ignored;
	const struct compute_call ask = {
	        .type = call->type,
	        .shape = agent_path_shape,
	        .message = &call->path,
	        .reply_type = AGENT_FILE,
	        .reply_shape = agent_file_shape,
	        .reply = ret ? ret : &ignored,
	        .reply_size = sizeof(ignored),
	};

	if (provider_require(t->hold.provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	return compute_call(t->hold.provider, t->hold.id, rq->arena, &ask, rq->deadline, err);
}

static int receive(int fd, struct request *rq, uint16_t *ret_type, struct buf *payload,
                   struct error *err)
{
	if (wire_receive(fd, rq->deadline, ret_type, payload, err) < 0)
		return -1;
	return *ret_type == AGENT_FAILED ? compute_failed(buf_span(payload), err) : 0;
}

int inside_read(struct request *rq, const struct api_target *t, const char *path, struct buf *out,
                struct error *err)
{
	const struct files_call call = {.type = AGENT_READ,
	                                .path = {.path = path, .user = t->defaults.user}};
	AUTO(buf_done) struct buf payload = BUF(WIRE_PAYLOAD_MAX);
	AUTO_CLOSE int fd = -1;
	uint16_t type = AGENT_NONE;

	if (files_open(rq, &t->hold, &call, &fd, err) < 0)
		return -1;
	while (type != AGENT_DONE) {
		if (receive(fd, rq, &type, &payload, err) < 0)
			return -1;
		if (type == AGENT_DATA)
			buf_add_span(out, buf_span(&payload));
		if (out->overflowed)
			return FAIL(err, ERROR_TOO_LARGE, "'%s' is larger than %zu bytes", path,
			            out->size_max);
	}
	return 0;
}

static int send_content(int fd, struct span content, int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf frames =
	        BUF(content.size + (content.size / AGENT_DATA_MAX + 2) * WIRE_HEAD_SIZE);

	while (content.size > 0) {
		size_t piece = content.size < AGENT_DATA_MAX ? content.size : AGENT_DATA_MAX;

		wire_add_frame(&frames, AGENT_DATA, (struct span){content.data, piece});
		content.data += piece;
		content.size -= piece;
	}
	wire_add_frame(&frames, AGENT_DATA_END, (struct span){NULL, 0});
	return wire_send(fd, buf_span(&frames), deadline, err);
}

int inside_write(struct request *rq, const struct api_target *t, const char *path,
                 struct span content, struct error *err)
{
	const struct files_call call = {.type = AGENT_WRITE,
	                                .path = {.path = path, .user = t->defaults.user}};
	AUTO(buf_done) struct buf payload = BUF(WIRE_PAYLOAD_MAX);
	AUTO_CLOSE int fd = -1;
	uint16_t type = AGENT_NONE;

	if (files_open(rq, &t->hold, &call, &fd, err) < 0)
		return -1;
	while (type != AGENT_DONE) {
		if (receive(fd, rq, &type, &payload, err) < 0)
			return -1;
		if (type == AGENT_READY && send_content(fd, content, rq->deadline, err) < 0)
			return -1;
	}
	return 0;
}
