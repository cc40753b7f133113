/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_services.h — commands that the agent keeps running: AGENT_SERVICE, AGENT_SERVICES and
 * AGENT_SERVICE_LOG of wire/agent.h.
 *
 * AGENT_SERVICE describes a whole service, with the server's id and a generation that grows with
 * each change. The agent ignores a generation that is not newer than its own. So a server can
 * repeat the message when it does not know whether it arrived, and no service runs twice. */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

#define AGENT_SERVICES_MAX 16              /* of one agent */
#define AGENT_SERVICE_LOG_MAX (256 * 1024) /* bytes kept of each stream, over all runs */

enum agent_service_wish { AGENT_SERVICE_RUN, AGENT_SERVICE_STOP, AGENT_SERVICE_REMOVE };
enum agent_service_restart {
	AGENT_SERVICE_ALWAYS,
	AGENT_SERVICE_ON_FAILURE,
	AGENT_SERVICE_NEVER,
	AGENT_SERVICE_RESTART_COUNT,
};

/* -> SERVICE_STATE, DONE */
struct agent_service {
	const char *id;
	uint64_t generation;
	const char *name;
	uint32_t wish;         /* enum agent_service_wish */
	uint32_t restart;      /* enum agent_service_restart */
	uint32_t failures_max; /* consecutive quick ends before it fails; 0 = no limit */
	uint32_t keeps_awake;  /* 1: its process counts as activity of the sandbox */
	uint64_t delay_ms;     /* before the first restart; doubled each time */
	uint64_t stop_ms;      /* from SIGTERM to SIGKILL */
	const char **args, **env;
	const char *cwd, *user;
};
extern const struct wire_member agent_service_shape[];

enum agent_service_phase {
	AGENT_SERVICE_STARTING,
	AGENT_SERVICE_RUNNING,
	AGENT_SERVICE_BACKOFF,  /* will be started again */
	AGENT_SERVICE_STOPPING, /* to be stopped or restarted */
	AGENT_SERVICE_STOPPED,  /* on request */
	AGENT_SERVICE_EXITED,   /* by itself; not restarted */
	AGENT_SERVICE_FAILED,   /* not restarted any more */
	AGENT_SERVICE_PHASE_COUNT,
};

/* AGENT_SERVICES, empty -> SERVICE_STATE*, DONE */
struct agent_service_state {
	const char *id;
	uint64_t generation;
	uint32_t phase; /* enum agent_service_phase */
	uint32_t pid;   /* inside the sandbox; 0 = none */
	uint64_t process;
	uint64_t restarts; /* automatic ones since the last change */
	uint32_t failures; /* consecutive quick ends */
	int64_t exit_code; /* of the last run that ended; -1 = none has */
	uint32_t signal;
	const char *error;                       /* why the last start failed; "" = it did not */
	uint64_t started_unix_ms;                /* of the last run; 0 = none */
	uint64_t ended_unix_ms;                  /* of the last run that ended */
	uint64_t again_ms;                       /* BACKOFF: time until the restart */
	uint64_t output_start[2], output_end[2]; /* of the kept output, counted over all runs */
};
extern const struct wire_member agent_service_state_shape[];

/* -> OUTPUT*, DONE: up to `max` bytes of each stream from `since` on. Bytes before the first OUTPUT
 * are lost. */
struct agent_service_log {
	const char *id;
	uint64_t since[2];
	uint32_t max;
};
extern const struct wire_member agent_service_log_shape[];
