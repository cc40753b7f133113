/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/daytona/toolbox.h"

#include <unistd.h>

#include "activity/activity.h"
#include "calls/files.h"
#include "edge/target.h"
#include "http/server/http.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "provider/provider.h"

int toolbox_run(struct request *rq, const struct api_target *t,
                const struct toolbox_command *command, struct compute_result *ret,
                struct error *err)
{
	const struct agent_exec exec = {
	        .args = command->args,
	        .env = t->env,
	        .cwd = command->cwd ? command->cwd : "",
	        .user = t->user,
	        .stdin_bytes = command->stdin_bytes,
	};
	const struct compute_run options = {
	        .exec = &exec, .out_max = command->out_max, .deadline = rq->deadline};

	if (provider_require(t->provider, PROVIDER_CAN_EXEC, err) < 0)
		return -1;
	return compute_run(t->provider, t->id, rq->arena, &options, ret, err);
}

const char *toolbox_complaint(struct arena *a, const struct compute_result *result)
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

int toolbox_call_file(struct request *rq, const struct api_target *t, const struct files_call *call,
                      struct agent_file *ret, struct error *err)
{
	const struct compute_file file = {call->type, &call->path, rq->deadline};
	struct activity_note *note = files_begin_note(rq, t, call);
	int result = compute_file(t->provider, t->id, rq->arena, &file, ret, err);

	return files_end_note(note, result, err);
}

/* Connects to the agent and sends it the request. */
static int open_reader(struct request *rq, const struct api_target *t,
                       const struct files_call *call, struct agent_reader *ret, struct error *err)
{
	const struct compute_request request = {call->type, agent_path_shape, &call->path, NULL};

	if (provider_require(t->provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	agent_reader_init(ret, t->provider, t->id,
	                  &(struct agent_limits){.deadline = rq->deadline});
	return agent_reader_ask(ret, &request, err);
}

int toolbox_read_file(struct request *rq, const struct api_target *t, const char *path,
                      struct buf *out, struct error *err)
{
	const struct files_call call = {.type = AGENT_READ,
	                                .path = {.path = path, .user = t->user}};
	AUTO(agent_reader_done) struct agent_reader r = {.provider = NULL};

	if (open_reader(rq, t, &call, &r, err) < 0)
		return -1;
	while (!r.has_ended) {
		if (agent_reader_next(&r, err) < 0)
			return -1;
		if (r.type == AGENT_DATA)
			buf_add_span(out, buf_span(&r.payload));
		if (out->overflowed)
			return FAIL(err, ERROR_TOO_LARGE, "'%s' is larger than %zu bytes", path,
			            out->size_max);
	}
	return 0;
}

static int send_content(struct agent_reader *r, struct span content, struct error *err)
{
	AUTO(buf_done) struct buf frames =
	        BUF(content.size + (content.size / AGENT_DATA_MAX + 2) * WIRE_HEAD_SIZE);

	files_add_content(&frames, content);
	return agent_reader_send(r, buf_span(&frames), err);
}

static int write_content(struct request *rq, const struct api_target *t,
                         const struct files_call *call, struct span content, struct error *err)
{
	AUTO(agent_reader_done) struct agent_reader r = {.provider = NULL};

	if (open_reader(rq, t, call, &r, err) < 0)
		return -1;
	while (!r.has_ended) {
		if (agent_reader_next(&r, err) < 0 ||
		    (r.type == AGENT_READY && send_content(&r, content, err) < 0))
			return -1;
	}
	return 0;
}

int toolbox_write_file(struct request *rq, const struct api_target *t, const char *path,
                       struct span content, struct error *err)
{
	const struct files_call call = {.type = AGENT_WRITE,
	                                .path = {.path = path, .user = t->user}};
	struct activity_note *note = files_begin_note(rq, t, &call);

	activity_add_bytes(note, content.size);
	return files_end_note(note, write_content(rq, t, &call, content, err), err);
}
