/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "fleet/core/fleet_hold.h"

/* One call for a file. The agent may be hostile: it must send AGENT_FILE once, before any data. */
struct file_call {
	const struct tool_call *call;
	const struct tool_file_reader *how;
	struct agent_reader agent;
	struct agent_file file;
	bool has_file;
};

static void file_call_done(struct file_call *r)
{
	agent_reader_done(&r->agent);
}

static int take_file(struct file_call *r, struct error *err)
{
	if (r->has_file)
		return FAIL(err, ERROR_SYSTEM, "the agent named a file twice");
	r->has_file = true;
	return wire_decode(r->call->arena, buf_span(&r->agent.payload), agent_file_shape, &r->file,
	                   sizeof(r->file), err);
}

/* 1: the reader has enough, or the file has ended. */
static int take_message(struct file_call *r, struct error *err)
{
	if (r->agent.type == AGENT_FILE)
		return take_file(r, err);
	if (!r->has_file)
		return agent_reader_refuse(&r->agent, err);
	if (r->agent.has_ended)
		return 1;
	return r->how->on_bytes(r->how->context, &r->file, buf_span(&r->agent.payload), err);
}

static int send_file_request(struct file_call *r, uint16_t type, const struct agent_path *path,
                             struct error *err)
{
	const struct compute_request request = {type, agent_path_shape, path, NULL};
	const struct agent_limits limits = {.deadline = r->call->deadline,
	                                    .cancel = type == AGENT_READ ? r->call->cancel : NULL};

	agent_reader_init(&r->agent, r->call->hold->provider, r->call->hold->id, &limits);
	return agent_reader_ask(&r->agent, &request, err);
}

int tool_read_file(const struct tool_call *call, const char *path,
                   const struct tool_file_reader *reading, struct agent_file *ret,
                   struct error *err)
{
	AUTO(file_call_done) struct file_call r = {.call = call, .how = reading};
	struct agent_path message = {.root = NULL};
	int state = 0;

	if (provider_require(call->hold->provider, PROVIDER_CAN_FILES, err) < 0 ||
	    tool_resolve_path(call, path, &message, err) < 0 ||
	    send_file_request(&r, AGENT_READ, &message, err) < 0)
		return -1;
	while (state == 0) {
		if (agent_reader_next(&r.agent, err) < 0)
			return -1;
		state = take_message(&r, err);
	}
	if (state < 0)
		return -1;
	*ret = r.file;
	return 0;
}

static int add_bytes(void *context, UNUSED const struct agent_file *file, struct span bytes,
                     struct error *err)
{
	struct buf *content = context;

	buf_add_span(content, bytes);
	if (content->overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the file has more than %zu bytes",
		            content->size_max);
	return 0;
}

int tool_load_file(const struct tool_call *call, const char *path, struct buf *out,
                   struct error *err)
{
	const struct tool_file_reader reading = {add_bytes, out};
	struct agent_file file;

	return tool_read_file(call, path, &reading, &file, err);
}

static int send_content(struct file_call *r, struct span content, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(AGENT_DATA_MAX + 2 * WIRE_HEAD_SIZE);

	while (content.size > 0) {
		buf_reset(&frame);
		wire_add_frame(&frame, AGENT_DATA, span_take(&content, AGENT_DATA_MAX));
		if (agent_reader_send(&r->agent, buf_span(&frame), err) < 0)
			return -1;
	}
	buf_reset(&frame);
	wire_add_frame(&frame, AGENT_DATA_END, (struct span){NULL, 0});
	return agent_reader_send(&r->agent, buf_span(&frame), err);
}

int tool_write_file(const struct tool_call *call, const char *path, struct span content,
                    struct agent_file *ret, struct error *err)
{
	AUTO(file_call_done) struct file_call r = {.call = call};
	struct agent_path message = {.flags = AGENT_PATH_PARENTS};

	if (provider_require(call->hold->provider, PROVIDER_CAN_FILES, err) < 0 ||
	    tool_resolve_path(call, path, &message, err) < 0 ||
	    send_file_request(&r, AGENT_WRITE, &message, err) < 0)
		return -1;
	if (agent_reader_expect(&r.agent, AGENT_READY, err) < 0 ||
	    send_content(&r, content, err) < 0 ||
	    agent_reader_expect(&r.agent, AGENT_FILE, err) < 0 || take_file(&r, err) < 0 ||
	    agent_reader_expect(&r.agent, AGENT_DONE, err) < 0)
		return -1;
	*ret = r.file;
	return 0;
}
