/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/file_write.h"

#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

static int send_content(struct agent_reader *agent, struct span content, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(AGENT_DATA_MAX + 2 * WIRE_HEAD_SIZE);

	while (content.size > 0) {
		buf_reset(&frame);
		wire_add_frame(&frame, AGENT_DATA, span_take(&content, AGENT_DATA_MAX));
		if (agent_reader_send(agent, buf_span(&frame), err) < 0)
			return -1;
	}
	buf_reset(&frame);
	wire_add_frame(&frame, AGENT_DATA_END, (struct span){NULL, 0});
	return agent_reader_send(agent, buf_span(&frame), err);
}

int provider_write_file(struct provider *p, const char *id, const struct provider_file *file,
                        struct error *err)
{
	const struct agent_path message = {.root = file->root,
	                                   .path = file->path,
	                                   .flags = file->flags |
	                                            (file->root ? AGENT_PATH_BENEATH : 0)};
	const struct compute_request request = {AGENT_WRITE, agent_path_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = file->deadline};
	AUTO(agent_reader_done) struct agent_reader agent = {0};

	agent_reader_init(&agent, p, id, &limits);
	if (agent_reader_ask(&agent, &request, err) < 0 ||
	    agent_reader_expect(&agent, AGENT_READY, err) < 0 ||
	    send_content(&agent, file->content, err) < 0 ||
	    agent_reader_expect(&agent, AGENT_FILE, err) < 0 ||
	    agent_reader_expect(&agent, AGENT_DONE, err) < 0)
		return FAIL_CONTEXT(err, "write '%s%s%s'", file->root ? file->root : "",
		                    file->root ? "/" : "", file->path);
	return 0;
}
