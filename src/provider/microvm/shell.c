/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/microvm/shell.h"

#include "base/fd.h"
#include "provider/agent_reader.h"
#include "provider/compute_run.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define OUT_MAX 16384 /* of what a program says */

static int send_content(struct agent_reader *r, struct span content, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(AGENT_DATA_MAX + 2 * WIRE_HEAD_SIZE);

	while (content.size > 0) {
		buf_reset(&frame);
		wire_add_frame(&frame, AGENT_DATA, span_take(&content, AGENT_DATA_MAX));
		if (agent_reader_send(r, buf_span(&frame), err) < 0)
			return -1;
	}
	buf_reset(&frame);
	wire_add_frame(&frame, AGENT_DATA_END, (struct span){NULL, 0});
	return agent_reader_send(r, buf_span(&frame), err);
}

int shell_write_file(struct provider *p, const char *id, const char *path, struct span content,
                     int64_t deadline, struct error *err)
{
	const struct agent_path message = {.path = path, .flags = AGENT_PATH_PARENTS};
	const struct compute_request request = {AGENT_WRITE, agent_path_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = deadline};
	AUTO(agent_reader_done) struct agent_reader r;

	agent_reader_init(&r, as_microvm(p)->shells, id, &limits);
	if (agent_reader_ask(&r, &request, err) < 0 ||
	    agent_reader_expect(&r, AGENT_READY, err) < 0 || send_content(&r, content, err) < 0 ||
	    agent_reader_expect(&r, AGENT_FILE, err) < 0)
		return -1;
	return agent_reader_expect(&r, AGENT_DONE, err);
}

int shell_write_parts(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	const struct microvm_boot *boot = &as_microvm(p)->boot;
	const struct {
		const char *path;
		const struct buf *content;
	} parts[] = {
	        {MICROVM_KERNEL, &boot->kernel},
	        {MICROVM_MEMORY_DISK, &boot->memory_disk},
	        {MICROVM_PROGRAM, &boot->program},
	        {MICROVM_LIBRARY, &boot->library},
	};

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (shell_write_file(p, id, parts[i].path, buf_span(parts[i].content), deadline,
		                     err) < 0)
			return -1;
	return 0;
}

int shell_run(struct provider *p, const char *id, const struct shell_program *program,
              struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_exec exec = {.args = (const char **)(uintptr_t)program->args,
	                                .env = (const char *[]){NULL},
	                                .cwd = "/",
	                                .user = program->user,
	                                .flags = program->user ? AGENT_EXEC_NO_PRIVILEGES : 0};
	const struct compute_run run = {&exec, OUT_MAX, program->deadline};
	struct compute_result result;

	if (compute_run(as_microvm(p)->shells, id, &arena, &run, &result, err) < 0)
		return FAIL_CONTEXT(err, "%s", program->doing);
	if (result.process.exit_code == 0)
		return 0;
	return FAIL(err, ERROR_SYSTEM, "cannot %s: %.*s", program->doing, (int)result.out[1].size,
	            result.out[1].data);
}
