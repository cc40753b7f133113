/* SPDX-License-Identifier: Apache-2.0 */
/* agent/service.h — commands that are kept running: started again when they end, by their rules.
 *
 *   starting ──> running ──> (its leftovers end) ──> backoff ──> starting …
 *                   │                            └──> exited, failed
 *                   └──> stopping ──> stopped, or starting as it is to be now
 *
 * A service is what the server has said of it last, and the process that it has now. Its output
 * lies in the rings of that process and goes with it from run to run, so that offsets count over
 * all of them. The main process is watched by a pidfd: what it leaves behind has to end before
 * there is another one, or the next would find its port taken. One that was removed stays as a name
 * and a generation for a while: what is said late does not bring it back. */
#pragma once

#include <stdint.h>

#include "agent/ring.h"
#include "agent/state.h"
#include "base/arena.h"
#include "base/error.h"
#include "wire/agent_services.h"

struct process;

/* What was said of it, with the arena that the texts are in. */
struct service_spec {
	struct arena arena;
	struct agent_service says;
};

struct service {
	struct list item;
	struct agent *agent;
	char id[64 + 1];
	uint64_t generation;
	struct service_spec now, next; /* next: from the end of its process on */
	bool has_next, is_removed;
	enum agent_service_phase phase;
	struct process *process; /* NULL: it has none */
	struct watch main;       /* a pidfd of the command itself */
	struct ring rings[2];    /* while it has no process */
	int64_t start_at;        /* monotonic, or DEADLINE_NEVER */
	int64_t begun_ms;        /* monotonic */
	uint64_t restarts;
	struct agent_service_state last; /* how its last run went; no texts */
	uint32_t failures;
	char error[ERROR_TEXT_MAX];
};

/* ---- service.c ---- */

/* What is new is done; takes the arena of the message then. */
MUST_CHECK int service_set(struct agent *a, const struct agent_service *message,
                           struct arena *arena, struct service **ret, struct error *err);
struct service *service_find(struct agent *a, const char *id);
struct agent_service_state service_state(const struct service *s);
const struct ring *service_ring(const struct service *s, unsigned stream);

/* Of a process that is a service's. */
void service_on_started(struct process *p);
/* It is over and forgotten when this returns. */
void service_on_process_end(struct process *p);
/* It could not be executed; `p` is about to be forgotten. */
void service_on_start_failed(struct process *p, const struct error *err);

int64_t services_next_deadline(const struct agent *a);
void services_run_timers(struct agent *a, int64_t now);

/* ---- service_calls.c ---- */

struct connection;
MUST_CHECK int service_call_set(struct connection *c, const struct agent_service *message,
                                struct arena *arena, struct error *err);
void service_call_list(struct connection *c);
MUST_CHECK int service_call_log(struct connection *c, const struct agent_service_log *wanted,
                                struct error *err);
