/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "tool/parts.h"

/* An agent may be hostile: what it sends is never more than what it said, and not before it. */
struct reading {
	const struct tool_call *call;
	const struct tool_reading *how;
	int fd;
	struct buf payload;
	struct agent_file file;
	bool has_file;
};

static void reading_done(struct reading *r)
{
	if (r->fd >= 0)
		close(r->fd);
	buf_done(&r->payload);
}

static int take_file(struct reading *r, struct error *err)
{
	if (r->has_file)
		return FAIL(err, ERROR_SYSTEM, "the agent named a file twice");
	r->has_file = true;
	return wire_decode(r->call->arena, buf_span(&r->payload), agent_file_shape, &r->file,
	                   sizeof(r->file), err);
}

/* 1 = enough, or all. */
static int take(struct reading *r, uint16_t type, struct error *err)
{
	if (type == AGENT_FAILED)
		return compute_failed(buf_span(&r->payload), err);
	if (type == AGENT_FILE)
		return take_file(r, err);
	if (!r->has_file || (type != AGENT_DATA && type != AGENT_DONE))
		return FAIL(err, ERROR_SYSTEM, "the agent sent a message of type %u out of order",
		            type);
	if (type == AGENT_DONE)
		return 1;
	return r->how->on_bytes(r->how->context, &r->file, buf_span(&r->payload), err);
}

int tool_read_file(const struct tool_call *call, const char *path,
                   const struct tool_reading *reading, struct agent_file *ret, struct error *err)
{
	AUTO(reading_done)
	struct reading r = {call, reading, -1, .payload = BUF(WIRE_PAYLOAD_MAX)};
	struct agent_path message = {.root = NULL};
	const struct compute_request request = {AGENT_READ, agent_path_shape, &message};
	uint16_t type;
	int state = 0;

	if (provider_require(call->hold->provider, PROVIDER_CAN_FILES, err) < 0 ||
	    tool_path(call, path, &message, err) < 0 ||
	    compute_open(call->hold->provider, call->hold->id, &request, call->deadline, &r.fd,
	                 err) < 0)
		return -1;
	while (state == 0) {
		if (wire_receive(r.fd, call->deadline, &type, &r.payload, err) < 0)
			return FAIL_CONTEXT(err, "agent");
		state = take(&r, type, err);
	}
	if (state < 0)
		return -1;
	*ret = r.file;
	return 0;
}

static int add_bytes(void *context, const struct agent_file *file, struct span bytes,
                     struct error *err)
{
	struct buf *content = context;

	(void)file;
	buf_add_span(content, bytes);
	if (content->overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the file has more than %zu bytes",
		            content->size_max);
	return 0;
}

int tool_load_file(const struct tool_call *call, const char *path, struct buf *out,
                   struct error *err)
{
	const struct tool_reading reading = {add_bytes, out};
	struct agent_file file;

	return tool_read_file(call, path, &reading, &file, err);
}

/* ---- write ---- */

static int receive(struct reading *r, uint16_t wanted, struct error *err)
{
	uint16_t type;

	if (wire_receive(r->fd, r->call->deadline, &type, &r->payload, err) < 0)
		return FAIL_CONTEXT(err, "agent");
	if (type == AGENT_FAILED)
		return compute_failed(buf_span(&r->payload), err);
	if (type != wanted)
		return FAIL(err, ERROR_SYSTEM, "the agent sent a message of type %u out of order",
		            type);
	return 0;
}

static int send_content(const struct reading *r, struct span content, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(AGENT_DATA_MAX + 2 * WIRE_HEAD_SIZE);

	while (content.size > 0) {
		struct span piece = {content.data,
		                     content.size < AGENT_DATA_MAX ? content.size : AGENT_DATA_MAX};

		buf_reset(&frame);
		wire_add_frame(&frame, AGENT_DATA, piece);
		if (wire_send(r->fd, buf_span(&frame), r->call->deadline, err) < 0)
			return FAIL_CONTEXT(err, "agent");
		content.data += piece.size;
		content.size -= piece.size;
	}
	buf_reset(&frame);
	wire_add_frame(&frame, AGENT_DATA_END, (struct span){NULL, 0});
	return wire_send(r->fd, buf_span(&frame), r->call->deadline, err);
}

int tool_write_file(const struct tool_call *call, const char *path, struct span content,
                    struct agent_file *ret, struct error *err)
{
	AUTO(reading_done)
	struct reading r = {.call = call, .fd = -1, .payload = BUF(WIRE_PAYLOAD_MAX)};
	struct agent_path message = {.flags = AGENT_PATH_PARENTS};
	const struct compute_request request = {AGENT_WRITE, agent_path_shape, &message};

	if (provider_require(call->hold->provider, PROVIDER_CAN_FILES, err) < 0 ||
	    tool_path(call, path, &message, err) < 0 ||
	    compute_open(call->hold->provider, call->hold->id, &request, call->deadline, &r.fd,
	                 err) < 0)
		return -1;
	if (receive(&r, AGENT_READY, err) < 0 || send_content(&r, content, err) < 0 ||
	    receive(&r, AGENT_FILE, err) < 0 || take_file(&r, err) < 0 ||
	    receive(&r, AGENT_DONE, err) < 0)
		return -1;
	*ret = r.file;
	return 0;
}
