/* SPDX-License-Identifier: Apache-2.0 */
/* agent/service.h — services: commands that the agent restarts by rules when they end.
 *
 *   starting ──> running ──> (its leftovers end) ──> backoff ──> starting …
 *                   │                            └──> exited, failed
 *                   └──> stopping ──> stopped, or starting as it is to be now
 *
 * A service is the server's last description and the current process. Its output lies in the rings
 * of that process, which the next run inherits, so that offsets count over all runs. A pidfd
 * watches the main process: its leftover processes must end before the next run, which would find
 * its port taken. A removed service keeps its id and generation for a while, so that a late message
 * does not bring it back. */
#pragma once

#include <stdint.h>

#include "agent/ring.h"
#include "agent/state.h"
#include "base/bytes.h"
#include "wire/agent_services.h"

struct process;

/* A description, with the arena of its texts. */
struct service_spec {
	struct arena arena;
	struct agent_service says;
};

struct service {
	struct list item;
	struct agent *agent;
	char id[64 + 1];
	uint64_t generation;
	struct service_spec now, next; /* next: applies when the process has ended */
	bool has_next, is_removed;
	enum agent_service_phase phase;
	struct process *process; /* NULL: not running */
	struct watch main;       /* a pidfd of the command itself */
	struct ring rings[2];    /* the output while no process runs */
	int64_t start_at;        /* monotonic, or DEADLINE_NEVER */
	int64_t begun_ms;        /* monotonic */
	uint64_t restarts;
	struct agent_service_state last; /* of the last run; no texts */
	uint32_t failures;
	char error[ERROR_TEXT_MAX];
};

/* Applies a newer generation, and takes the arena of the message then. */
MUST_CHECK int service_set(struct agent *a, const struct agent_service *message,
                           struct arena *arena, struct service **ret, struct error *err);
struct service *service_find(struct agent *a, const char *id);
struct agent_service_state service_state(const struct service *s);
const struct ring *service_ring(const struct service *s, unsigned stream);

/* Called for a process of a service. */
void service_on_started(struct process *p);
/* The process is forgotten when this returns. */
void service_on_process_end(struct process *p);
/* The command could not be executed; `p` is about to be forgotten. */
void service_on_start_failed(struct process *p, const struct error *err);

int64_t services_next_deadline(const struct agent *a);
void services_run_timers(struct agent *a, int64_t now);
