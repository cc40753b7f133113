/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/services.h — commands that the agent of a sandbox keeps running. The rules of
 * fleet.h apply.
 *
 * The row of a service holds its wanted state. A change is written to the row first and then sent
 * to the agent; the tick repeats it until the agent has confirmed it. So no change is lost when a
 * process dies, and the agent ensures that no service runs twice. Services start together with
 * their sandbox. A fork gets copies of them; a reset sandbox has none. */
#pragma once

#include "fleet/core/sandboxes.h"
#include "store/services.h"
#include "wire/agent_services.h"

struct fleet;
struct json_map;

#define FLEET_SERVICES_MAX AGENT_SERVICES_MAX
#define FLEET_SERVICE_COMMAND_MAX (64 * 1024)
#define FLEET_SERVICE_DELAY_MS 500
#define FLEET_SERVICE_DELAY_MAX_MS 60000
#define FLEET_SERVICE_STOP_MS 5000
#define FLEET_SERVICE_STOP_MAX_MS (10 * 60000)
#define FLEET_SERVICE_FAILURES_MAX 1000

struct fleet_service {
	const char *name;        /* rules as for names of sandboxes */
	const char *command;     /* for a shell; NULL: args instead */
	const char *const *args; /* a program and its arguments, NULL-terminated */
	const char *cwd, *user;  /* NULL: as for commands of the sandbox */
	const struct json_map *env;
	enum service_restart restart;
	int64_t failures_max;      /* quick ends in a row before the agent gives up; 0 = never */
	int64_t delay_ms, stop_ms; /* 0 = FLEET_SERVICE_… */
	bool keeps_awake;          /* its process counts as activity of the sandbox */
};
/* A service with its current state. */
struct fleet_service_view {
	struct service_record record;
	const char *state; /* name of its phase; down, paused, unknown: the agent was not asked */
	struct agent_service_state agent; /* zeros if the agent does not know it */
};
struct fleet_service_views {
	struct fleet_service_view *items;
	size_t count;
};
struct fleet_service_ref {
	const char *project_id, *sandbox, *name;
};

/* Creates or changes a service; it runs if its sandbox does. A service that is equal already
 * continues undisturbed. Wakes a paused sandbox. */
MUST_CHECK int fleet_service_put(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 const struct fleet_service *service,
                                 struct fleet_service_view *ret, struct error *err);
enum fleet_service_verb {
	FLEET_SERVICE_START,   /* succeeds if it runs already */
	FLEET_SERVICE_STOP,    /* succeeds if it does not run */
	FLEET_SERVICE_RESTART, /* starts a stopped one */
	FLEET_SERVICE_REMOVE,  /* ends it and removes it with its log */
};
MUST_CHECK int fleet_service_do(struct fleet *fleet, struct arena *a,
                                const struct fleet_service_ref *ref, enum fleet_service_verb verb,
                                struct fleet_service_view *ret, struct error *err);
/* Sorted by name. Does not count as activity of the sandbox. */
MUST_CHECK int fleet_services(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                              struct fleet_service_views *ret, struct error *err);
MUST_CHECK int fleet_service_find(struct fleet *fleet, struct arena *a,
                                  const struct fleet_service_ref *ref,
                                  struct fleet_service_view *ret, struct error *err);

/* Output of a service, each stream from an offset on, over all its runs since the start of the
 * sandbox. A negative offset counts from the end. */
struct fleet_service_log_request {
	int64_t since[2];
	size_t max; /* bytes of each stream, up to AGENT_SERVICE_LOG_MAX */
};
struct fleet_service_log {
	struct span out[2];
	uint64_t offset[2]; /* of the first byte */
	uint64_t end[2];    /* total bytes written */
};
/* The caller holds the sandbox. */
MUST_CHECK int fleet_service_log(struct fleet *fleet, struct arena *a,
                                 const struct fleet_service_ref *ref,
                                 const struct fleet_service_log_request *request,
                                 struct fleet_service_log *ret, struct error *err);
