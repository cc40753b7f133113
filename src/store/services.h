/* SPDX-License-Identifier: Apache-2.0 */
/* store/services.h — commands that a sandbox's agent keeps running. Part of the store's contract,
 * see store.h.
 *
 * A row says what a service is to be; how it is doing only its agent knows. Each change is a new
 * generation, which the agent has yet to be told of: whoever finds one that is not told, tells. A
 * row that is `removed` goes once the agent has heard that. */
#pragma once

#include <stdint.h>

#include "store/store.h"

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
const char *service_wish_name(enum service_wish wish);
const char *service_restart_name(enum service_restart restart);

struct service_record {
	const char *id, *sandbox_id;
	const char *name;      /* unique in the sandbox */
	const char *command;   /* a line for a shell, or "" */
	const char *args_json; /* else: ["PROGRAM","ARG",…] */
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

/* Made, or changed to what `r` says; then *ret has the id that it had, else r's. One that is so
 * already stays as it is, generation and all. ERROR_LIMIT when the sandbox has `max` others;
 * ERROR_CONFLICT when it is being removed. */
MUST_CHECK int store_service_put(struct store *s, struct arena *a, const struct service_record *r,
                                 unsigned max, struct service_record *ret, struct error *err);
MUST_CHECK int store_service_find(struct store *s, struct arena *a, const struct service_ref *ref,
                                  struct service_record *ret, struct error *err);
/* By name; those that are being removed, too. */
MUST_CHECK int store_service_list(struct store *s, struct arena *a, const char *sandbox_id,
                                  struct service_list *ret, struct error *err);
struct service_change {
	const char *sandbox_id, *name;
	enum service_wish wish;
	int64_t now;
};
/* A new generation with that wish. */
MUST_CHECK int store_service_wish(struct store *s, struct arena *a,
                                  const struct service_change *change, struct service_record *ret,
                                  struct error *err);
/* The agent has heard of this generation; nothing happens when there is a newer one. */
MUST_CHECK int store_service_told(struct store *s, const struct service_record *r,
                                  struct error *err);
/* The row of this generation goes. */
MUST_CHECK int store_service_remove(struct store *s, const struct service_record *r,
                                    struct error *err);
/* All of a sandbox. */
MUST_CHECK int store_services_clear(struct store *s, const char *sandbox_id, struct error *err);
/* A hundred at most that a started sandbox of the node has yet to be told of. */
MUST_CHECK int store_services_to_tell(struct store *s, struct arena *a, const char *node,
                                      struct service_list *ret, struct error *err);
