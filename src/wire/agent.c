/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/agent.h"

#include "wire/agent_beat.h"
#include "wire/agent_dial.h"
#include "wire/agent_files.h"
#include "wire/agent_jobs.h"
#include "wire/agent_machine.h"
#include "wire/agent_terminal.h"
#include "wire/agent_warm.h"
#include "wire/agent_secrets.h"

#define PATH_MAX_BYTES 4096
#define NAME_MAX_BYTES 256
#define TEXT_MAX_BYTES 1024

const struct wire_member agent_failed_shape[] = {
        WIRE_U32_MEMBER(agent_failed, code),
        WIRE_U32_MEMBER(agent_failed, sys_errno),
        WIRE_TEXT_MEMBER(agent_failed, text, TEXT_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_failed, hint, TEXT_MAX_BYTES),
        WIRE_END,
};

const struct wire_member agent_done_shape[] = {
        WIRE_U64_MEMBER(agent_done, count),
        WIRE_END,
};

const struct wire_member agent_pong_shape[] = {
        WIRE_U32_MEMBER(agent_pong, protocol),
        WIRE_U32_MEMBER(agent_pong, processes),
        WIRE_U32_MEMBER(agent_pong, connections),
        WIRE_U64_MEMBER(agent_pong, uptime_ms),
        WIRE_TEXT_MEMBER(agent_pong, boot_id, NAME_MAX_BYTES),
        WIRE_END,
};

#define EXEC_MEMBERS                                                                               \
	WIRE_TEXT_LIST_MEMBER(agent_exec, args, AGENT_ARGS_MAX),                                   \
	        WIRE_TEXT_LIST_MEMBER(agent_exec, env, AGENT_ENV_MAX),                             \
	        WIRE_TEXT_MEMBER(agent_exec, cwd, PATH_MAX_BYTES),                                 \
	        WIRE_TEXT_MEMBER(agent_exec, user, NAME_MAX_BYTES),                                \
	        WIRE_TEXT_MEMBER(agent_exec, label, NAME_MAX_BYTES),                               \
	        WIRE_BYTES_MEMBER(agent_exec, stdin_bytes, 0), WIRE_U32_MEMBER(agent_exec, flags), \
	        WIRE_U32_MEMBER(agent_exec, rows), WIRE_U32_MEMBER(agent_exec, columns),           \
	        WIRE_U32_MEMBER(agent_exec, ring_bytes), WIRE_U64_MEMBER(agent_exec, timeout_ms)

const struct wire_member agent_exec_shape[] = {EXEC_MEMBERS, WIRE_END};
const struct wire_member agent_secret_exec_shape[] = {
        EXEC_MEMBERS, WIRE_TEXT_LIST_MEMBER(agent_exec, secrets, AGENT_SECRETS_MAX), WIRE_END};

const struct wire_member agent_warm_shape[] = {
        WIRE_TEXT_MEMBER(agent_warm, language, NAME_MAX_BYTES),
        WIRE_TEXT_LIST_MEMBER(agent_warm, imports, AGENT_WARM_IMPORTS_MAX),
        WIRE_TEXT_LIST_MEMBER(agent_warm, env, AGENT_ENV_MAX),
        WIRE_TEXT_MEMBER(agent_warm, user, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_warm, cwd, PATH_MAX_BYTES),
        WIRE_END,
};

const struct wire_member agent_dial_shape[] = {
        WIRE_U32_MEMBER(agent_dial, port),
        WIRE_U32_MEMBER(agent_dial, version),
        WIRE_END,
};

const struct wire_member agent_attach_shape[] = {
        WIRE_U64_MEMBER(agent_attach, process),   WIRE_U64_MEMBER(agent_attach, since[0]),
        WIRE_U64_MEMBER(agent_attach, since[1]),  WIRE_U32_MEMBER(agent_attach, read_only),
        WIRE_U32_MEMBER(agent_attach, until_end), WIRE_END,
};

const struct wire_member agent_process_shape[] = {
        WIRE_U64_MEMBER(agent_process, process),
        WIRE_U32_MEMBER(agent_process, state),
        WIRE_U32_MEMBER(agent_process, pid),
        WIRE_I64_MEMBER(agent_process, exit_code),
        WIRE_U32_MEMBER(agent_process, signal),
        WIRE_U32_MEMBER(agent_process, timed_out),
        WIRE_U64_MEMBER(agent_process, started_unix_ms),
        WIRE_U64_MEMBER(agent_process, duration_ms),
        WIRE_U64_MEMBER(agent_process, output_end[0]),
        WIRE_U64_MEMBER(agent_process, output_end[1]),
        WIRE_U32_MEMBER(agent_process, flags),
        WIRE_TEXT_MEMBER(agent_process, label, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_process, user, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_process, cwd, PATH_MAX_BYTES),
        WIRE_TEXT_LIST_MEMBER(agent_process, args, AGENT_ARGS_MAX),
        WIRE_END,
};

const struct wire_member agent_output_shape[] = {
        WIRE_U32_MEMBER(agent_output, stream),
        WIRE_U64_MEMBER(agent_output, offset),
        WIRE_BYTES_MEMBER(agent_output, bytes, AGENT_DATA_MAX),
        WIRE_END,
};

const struct wire_member agent_resize_shape[] = {
        WIRE_U32_MEMBER(agent_resize, rows),
        WIRE_U32_MEMBER(agent_resize, columns),
        WIRE_END,
};

const struct wire_member agent_signal_shape[] = {
        WIRE_U64_MEMBER(agent_signal, process),
        WIRE_U32_MEMBER(agent_signal, signal),
        WIRE_U32_MEMBER(agent_signal, whole_tree),
        WIRE_END,
};

const struct wire_member agent_feed_shape[] = {
        WIRE_U64_MEMBER(agent_feed, process),
        WIRE_U32_MEMBER(agent_feed, end),
        WIRE_BYTES_MEMBER(agent_feed, bytes, AGENT_DATA_MAX),
        WIRE_END,
};

const struct wire_member agent_terminal_shape[] = {
        WIRE_U64_MEMBER(agent_terminal, process), WIRE_U32_MEMBER(agent_terminal, signal),
        WIRE_U32_MEMBER(agent_terminal, rows),    WIRE_U32_MEMBER(agent_terminal, columns),
        WIRE_U64_MEMBER(agent_terminal, idle_ms), WIRE_END,
};

const struct wire_member agent_terminal_state_shape[] = {
        WIRE_U32_MEMBER(agent_terminal_state, rows),
        WIRE_U32_MEMBER(agent_terminal_state, columns),
        WIRE_U32_MEMBER(agent_terminal_state, foreground),
        WIRE_U32_MEMBER(agent_terminal_state, is_busy),
        WIRE_U32_MEMBER(agent_terminal_state, state),
        WIRE_U32_MEMBER(agent_terminal_state, viewers),
        WIRE_U64_MEMBER(agent_terminal_state, idle_ms),
        WIRE_U64_MEMBER(agent_terminal_state, quiet_ms),
        WIRE_U64_MEMBER(agent_terminal_state, output_start),
        WIRE_U64_MEMBER(agent_terminal_state, output_end),
        WIRE_END,
};

const struct wire_member agent_beat_shape[] = {
        WIRE_U64_MEMBER(agent_beat, bound_ms),
        WIRE_END,
};

const struct wire_member agent_identity_shape[] = {
        WIRE_TEXT_MEMBER(agent_identity, hostname, NAME_MAX_BYTES),
        WIRE_BYTES_MEMBER(agent_identity, entropy, AGENT_IDENTITY_ENTROPY),
        WIRE_I64_MEMBER(agent_identity, unix_us),
        WIRE_U64_MEMBER(agent_identity, pids_max),
        WIRE_U32_MEMBER(agent_identity, has_network),
        WIRE_U32_MEMBER(agent_identity, is_new),
        WIRE_U32_MEMBER(agent_identity, only_syncs),
        WIRE_END,
};

const struct wire_member agent_stop_shape[] = {
        WIRE_U64_MEMBER(agent_stop, grace_ms),
        WIRE_END,
};

const struct wire_member agent_job_shape[] = {
        WIRE_TEXT_MEMBER(agent_job, id, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_job, address, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(agent_job, port),
        WIRE_TEXT_MEMBER(agent_job, host, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_job, path, TEXT_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_job, token, NAME_MAX_BYTES),
        WIRE_END,
};

const struct wire_member agent_find_job_shape[] = {
        WIRE_TEXT_MEMBER(agent_find_job, id, NAME_MAX_BYTES),
        WIRE_END,
};

const struct wire_member agent_await_shape[] = {
        WIRE_U64_MEMBER(agent_await, process),
        WIRE_TEXT_MEMBER(agent_await, boot_id, NAME_MAX_BYTES),
        WIRE_END,
};

const struct wire_member agent_path_shape[] = {
        WIRE_TEXT_MEMBER(agent_path, root, PATH_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_path, path, PATH_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_path, target, PATH_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_path, user, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(agent_path, flags),
        WIRE_U32_MEMBER(agent_path, mode),
        WIRE_U32_MEMBER(agent_path, depth),
        WIRE_U64_MEMBER(agent_path, offset),
        WIRE_U64_MEMBER(agent_path, size_max),
        WIRE_END,
};

const struct wire_member agent_file_shape[] = {
        WIRE_TEXT_MEMBER(agent_file, path, PATH_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_file, link, PATH_MAX_BYTES),
        WIRE_U32_MEMBER(agent_file, type),
        WIRE_U32_MEMBER(agent_file, mode),
        WIRE_U32_MEMBER(agent_file, uid),
        WIRE_U32_MEMBER(agent_file, gid),
        WIRE_U64_MEMBER(agent_file, size),
        WIRE_I64_MEMBER(agent_file, modified_unix_ms),
        WIRE_END,
};

const struct wire_member agent_entry_shape[] = {
        WIRE_TEXT_MEMBER(agent_entry, path, PATH_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_entry, link, PATH_MAX_BYTES),
        WIRE_U32_MEMBER(agent_entry, type),
        WIRE_U32_MEMBER(agent_entry, mode),
        WIRE_U32_MEMBER(agent_entry, link_type),
        WIRE_U32_MEMBER(agent_entry, link_mode),
        WIRE_U64_MEMBER(agent_entry, size),
        WIRE_I64_MEMBER(agent_entry, modified_s),
        WIRE_U32_MEMBER(agent_entry, modified_ns),
        WIRE_TEXT_MEMBER(agent_entry, owner, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_entry, group, NAME_MAX_BYTES),
        WIRE_TEXT_LIST_MEMBER(agent_entry, attributes, AGENT_ATTRIBUTES_MAX),
        WIRE_END,
};

const struct wire_member agent_change_shape[] = {
        WIRE_U32_MEMBER(agent_change, kind),
        WIRE_U32_MEMBER(agent_change, type),
        WIRE_TEXT_MEMBER(agent_change, path, PATH_MAX_BYTES),
        WIRE_END,
};

const struct wire_member agent_difference_shape[] = {
        WIRE_TEXT_MEMBER(agent_difference, path, PATH_MAX_BYTES),
        WIRE_U32_MEMBER(agent_difference, kind),
        WIRE_U32_MEMBER(agent_difference, flags),
        WIRE_U32_MEMBER(agent_difference, type[0]),
        WIRE_U32_MEMBER(agent_difference, type[1]),
        WIRE_U32_MEMBER(agent_difference, mode[0]),
        WIRE_U32_MEMBER(agent_difference, mode[1]),
        WIRE_U32_MEMBER(agent_difference, uid[0]),
        WIRE_U32_MEMBER(agent_difference, uid[1]),
        WIRE_U32_MEMBER(agent_difference, gid[0]),
        WIRE_U32_MEMBER(agent_difference, gid[1]),
        WIRE_U64_MEMBER(agent_difference, size[0]),
        WIRE_U64_MEMBER(agent_difference, size[1]),
        WIRE_TEXT_MEMBER(agent_difference, link[0], PATH_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_difference, link[1], PATH_MAX_BYTES),
        WIRE_END,
};

struct agent_failed agent_failed_of(const struct error *err)
{
	return (struct agent_failed){.code = (uint32_t)err->code,
	                             .sys_errno = (uint32_t)err->sys_errno,
	                             .text = err->text,
	                             .hint = err->hint};
}

bool agent_type_is_of_files(uint16_t type)
{
	return (type >= AGENT_READ && type <= AGENT_WATCH) || type == AGENT_COMPARE ||
	       type == AGENT_TAR_BASE || type == AGENT_INSPECT || type == AGENT_SET_ATTRIBUTES ||
	       type == AGENT_SEARCH;
}
