/* SPDX-License-Identifier: Apache-2.0 */
/* store/services.h — services: commands that a sandbox's agent keeps running.
 *
 * A row holds the desired state of a service; only the agent knows the current state. Each change
 * is a new generation that must be sent to the agent; any server sends generations that are not
 * sent yet (is_told is false). A REMOVED row is dropped after the agent has acknowledged it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

enum service_wish {
	SERVICE_RUNNING,
	SERVICE_STOPPED,
	SERVICE_REMOVED,
	SERVICE_WISH_COUNT,
};
enum service_restart {
	SERVICE_RESTART_ALWAYS,
	SERVICE_RESTART_ON_FAILURE,
	SERVICE_RESTART_NO,
	SERVICE_RESTART_COUNT,
};
const char *service_restart_name(enum service_restart restart);

struct service_record {
	const char *id, *sandbox_id;
	const char *name;      /* unique in the sandbox */
	const char *command;   /* a shell command line, or "" */
	const char *args_json; /* otherwise ["PROGRAM","ARG",…] */
	const char *cwd, *run_as;
	const char *env_json;
	enum service_restart restart;
	int64_t failures_max, delay_ms, stop_ms;
	bool keeps_awake;
	enum service_wish wish;
	int64_t generation;
	bool is_told;
	int64_t created_at, updated_at;
};
struct service_list {
	struct service_record *items;
	size_t count;
};
struct service_ref {
	const char *sandbox_id, *name;
};

/* Inserts the service, or changes it to `r`; then *ret keeps the existing id. An identical row is
 * left unchanged, with its generation. ERROR_LIMIT when the sandbox has `max` other services;
 * ERROR_CONFLICT when it is being removed. */
MUST_CHECK int store_service_put(struct store *s, struct arena *a, const struct service_record *r,
                                 unsigned max, struct service_record *ret, struct error *err);
MUST_CHECK int store_service_find(struct store *s, struct arena *a, const struct service_ref *ref,
                                  struct service_record *ret, struct error *err);
/* Sorted by name; includes services that are being removed. */
MUST_CHECK int store_service_list(struct store *s, struct arena *a, const char *sandbox_id,
                                  struct service_list *ret, struct error *err);
struct service_change {
	const char *sandbox_id, *name;
	enum service_wish wish;
	int64_t now;
};
/* Sets the desired state as a new generation. */
MUST_CHECK int store_service_wish(struct store *s, struct arena *a,
                                  const struct service_change *change, struct service_record *ret,
                                  struct error *err);
/* Records that the agent has this generation; no effect when a newer one exists. */
MUST_CHECK int store_service_told(struct store *s, const struct service_record *r,
                                  struct error *err);
/* Drops the row if it still has this generation. */
MUST_CHECK int store_service_remove(struct store *s, const struct service_record *r,
                                    struct error *err);
/* Drops all services of a sandbox. */
MUST_CHECK int store_services_clear(struct store *s, const char *sandbox_id, struct error *err);
/* At most 100 services of started sandboxes of the node whose generation was not sent yet. */
MUST_CHECK int store_services_to_tell(struct store *s, struct arena *a, const char *node,
                                      struct service_list *ret, struct error *err);
