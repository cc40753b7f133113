/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/agent_services.h"

#include "wire/agent.h"

#define ID_MAX_BYTES 64
#define NAME_MAX_BYTES 256
#define PATH_MAX_BYTES 4096
#define ERROR_MAX_BYTES 1024

const struct wire_member agent_service_shape[] = {
        WIRE_TEXT_MEMBER(agent_service, id, ID_MAX_BYTES),
        WIRE_U64_MEMBER(agent_service, generation),
        WIRE_TEXT_MEMBER(agent_service, name, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(agent_service, wish),
        WIRE_U32_MEMBER(agent_service, restart),
        WIRE_U32_MEMBER(agent_service, failures_max),
        WIRE_U32_MEMBER(agent_service, keeps_awake),
        WIRE_U64_MEMBER(agent_service, delay_ms),
        WIRE_U64_MEMBER(agent_service, stop_ms),
        WIRE_TEXT_LIST_MEMBER(agent_service, args, AGENT_ARGS_MAX),
        WIRE_TEXT_LIST_MEMBER(agent_service, env, AGENT_ENV_MAX),
        WIRE_TEXT_MEMBER(agent_service, cwd, PATH_MAX_BYTES),
        WIRE_TEXT_MEMBER(agent_service, user, NAME_MAX_BYTES),
        WIRE_END,
};

const struct wire_member agent_service_state_shape[] = {
        WIRE_TEXT_MEMBER(agent_service_state, id, ID_MAX_BYTES),
        WIRE_U64_MEMBER(agent_service_state, generation),
        WIRE_U32_MEMBER(agent_service_state, phase),
        WIRE_U32_MEMBER(agent_service_state, pid),
        WIRE_U64_MEMBER(agent_service_state, process),
        WIRE_U64_MEMBER(agent_service_state, restarts),
        WIRE_U32_MEMBER(agent_service_state, failures),
        WIRE_I64_MEMBER(agent_service_state, exit_code),
        WIRE_U32_MEMBER(agent_service_state, signal),
        WIRE_TEXT_MEMBER(agent_service_state, error, ERROR_MAX_BYTES),
        WIRE_U64_MEMBER(agent_service_state, started_unix_ms),
        WIRE_U64_MEMBER(agent_service_state, ended_unix_ms),
        WIRE_U64_MEMBER(agent_service_state, again_ms),
        WIRE_U64_MEMBER(agent_service_state, output_start[0]),
        WIRE_U64_MEMBER(agent_service_state, output_start[1]),
        WIRE_U64_MEMBER(agent_service_state, output_end[0]),
        WIRE_U64_MEMBER(agent_service_state, output_end[1]),
        WIRE_END,
};

const struct wire_member agent_service_log_shape[] = {
        WIRE_TEXT_MEMBER(agent_service_log, id, ID_MAX_BYTES),
        WIRE_U64_MEMBER(agent_service_log, since[0]),
        WIRE_U64_MEMBER(agent_service_log, since[1]),
        WIRE_U32_MEMBER(agent_service_log, max),
        WIRE_END,
};
