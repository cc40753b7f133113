/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/services.h — commands that a sandbox's agent keeps running. Part of the fleet: the rules of
 * fleet.h hold.
 *
 * What a service is to be is a row; a change is written first and told to the agent then, and told
 * again, by the tick, until the agent has heard it: so whoever dies in between, none is lost, and
 * the agent sees to it that none runs twice. When its sandbox is started, its services are. A fork
 * has them too; a reset sandbox has none. */
#pragma once

#include "fleet/fleet.h"
#include "store/services.h"
#include "wire/agent_services.h"

#define FLEET_SERVICES_MAX AGENT_SERVICES_MAX
#define FLEET_SERVICE_COMMAND_MAX (64 * 1024)
#define FLEET_SERVICE_DELAY_MS 500
#define FLEET_SERVICE_DELAY_MAX_MS 60000
#define FLEET_SERVICE_STOP_MS 5000
#define FLEET_SERVICE_STOP_MAX_MS (10 * 60000)
#define FLEET_SERVICE_FAILURES_MAX 1000

struct fleet_service {
	const char *name;        /* as a sandbox's */
	const char *command;     /* a line for a shell; or NULL: */
	const char *const *args; /* a program and its arguments, NULL-terminated */
	const char *cwd, *user;  /* NULL = as commands of the sandbox have it */
	const struct json_map *env;
	enum service_restart restart;
	int64_t failures_max;      /* quick ends in a row, then it is given up; 0 = never */
	int64_t delay_ms, stop_ms; /* 0 = FLEET_SERVICE_… */
	bool keeps_awake;          /* its process is use of the sandbox */
};
/* How one is doing. */
struct fleet_service_view {
	struct service_record record;
	const char
	        *state; /* a phase's name; or down, paused, unknown: its sandbox cannot be asked */
	struct agent_service_state agent; /* zeroes when the agent knows nothing of it */
};
struct fleet_service_views {
	struct fleet_service_view *items;
	size_t count;
};
struct fleet_service_ref {
	const char *project_id, *sandbox, *name;
};

/* Made or changed, and running when its sandbox is; one that is so already goes on undisturbed. A
 * paused sandbox is woken. */
MUST_CHECK int fleet_service_put(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 const struct fleet_service *service,
                                 struct fleet_service_view *ret, struct error *err);
enum fleet_service_verb {
	FLEET_SERVICE_START,   /* fine when it runs */
	FLEET_SERVICE_STOP,    /* fine when it does not */
	FLEET_SERVICE_RESTART, /* starts one that is stopped */
	FLEET_SERVICE_REMOVE,  /* ends it, and it is gone; its log, too */
};
MUST_CHECK int fleet_service_do(struct fleet *fleet, struct arena *a,
                                const struct fleet_service_ref *ref, enum fleet_service_verb verb,
                                struct fleet_service_view *ret, struct error *err);
/* By name. That somebody looks is no use of the sandbox. */
MUST_CHECK int fleet_services(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                              struct fleet_service_views *ret, struct error *err);
MUST_CHECK int fleet_service_find(struct fleet *fleet, struct arena *a,
                                  const struct fleet_service_ref *ref,
                                  struct fleet_service_view *ret, struct error *err);

/* What it wrote, each stream from an offset on, over all its runs since the sandbox was started. A
 * negative offset is so far before the end. */
struct fleet_service_log_request {
	int64_t since[2];
	size_t max; /* bytes of each stream, up to AGENT_SERVICE_LOG_MAX */
};
struct fleet_service_log {
	struct span out[2];
	uint64_t offset[2]; /* of the first byte */
	uint64_t end[2];    /* written in all */
};
/* Of a sandbox that the caller holds. */
MUST_CHECK int fleet_service_log(struct fleet *fleet, struct arena *a,
                                 const struct fleet_service_ref *ref,
                                 const struct fleet_service_log_request *request,
                                 struct fleet_service_log *ret, struct error *err);
