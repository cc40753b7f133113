/* SPDX-License-Identifier: Apache-2.0 */
/* store/store.h — durable facts, in the words of the domain; SQL stays inside.
 *
 * Any thread may call; a call is one transaction and blocks for its commit. Records are copied into
 * the caller's arena. Text members are never NULL after reading. Times are unix ms, 0 = none.
 * ERROR_NOT_FOUND and ERROR_CONFLICT (a unique name or id that is taken, or a lost compare-and-set)
 * are ordinary answers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "sandbox/sandbox.h"

struct store;

/* "sqlite:/path/atoll.db" or "sqlite::memory:". Creates and migrates. */
MUST_CHECK int store_open(const char *dsn, struct store **ret, struct error *err);
void store_close(struct store *store);
MUST_CHECK int store_ping(struct store *store, struct error *err);

/* ---- projects and keys ---- */

struct project_record {
	const char *id, *name;
	struct sandbox_resources defaults; /* zeros = the platform's */
	int64_t sandboxes_max;             /* 0 = the platform's */
	int64_t created_at;
};
MUST_CHECK int store_project_insert(struct store *s, const struct project_record *r,
                                    struct error *err);
MUST_CHECK int store_project_find(struct store *s, struct arena *a, const char *id,
                                  struct project_record *ret, struct error *err);
MUST_CHECK int store_project_set_defaults(struct store *s, const char *id,
                                          const struct sandbox_resources *defaults,
                                          struct error *err);

#define KEY_HASH_SIZE 32
struct key_record {
	const char *id, *project_id, *name;
	const char *prefix;                /* first characters, to tell keys apart */
	unsigned char hash[KEY_HASH_SIZE]; /* SHA-256 of the key; the key itself is never stored */
	int64_t scopes;                    /* enum account_scope bits */
	int64_t created_at, expires_at, revoked_at, last_used_at;
};
struct key_list {
	struct key_record *items;
	size_t count;
};
MUST_CHECK int store_key_insert(struct store *s, const struct key_record *r, struct error *err);
MUST_CHECK int store_key_find_by_hash(struct store *s, struct arena *a,
                                      const unsigned char hash[KEY_HASH_SIZE],
                                      struct key_record *ret, struct error *err);
MUST_CHECK int store_key_list(struct store *s, struct arena *a, const char *project_id,
                              struct key_list *ret, struct error *err);
MUST_CHECK int store_key_revoke(struct store *s, const char *project_id, const char *id,
                                int64_t now, struct error *err);
/* May be written late and in batches. */
void store_key_touch(struct store *s, const char *id, int64_t now);

/* ---- templates ---- */

enum template_state { TEMPLATE_PENDING, TEMPLATE_BUILDING, TEMPLATE_READY, TEMPLATE_FAILED };
struct template_record {
	const char *id, *project_id; /* project "" = everybody's */
	const char *name;            /* unique in its project */
	const char *folder;          /* below DATA/templates; "host" for the machine's own */
	const char *base_image, *runtime, *isolation;
	const char *description;
	struct sandbox_resources resources; /* zeros = not given */
	const char *env_json;               /* {"A":"b"} */
	const char *entrypoint_json;        /* ["cmd","arg"] or [] */
	const char *ports_json;             /* [3000] */
	const char *user, *workdir; /* of commands; the default user and its project folder */
	enum template_state state;
	const char *state_text; /* progress, or why it failed */
	int64_t size_bytes, created_at, updated_at;
};
struct template_list {
	struct template_record *items;
	size_t count;
};
MUST_CHECK int store_template_insert(struct store *s, const struct template_record *r,
                                     struct error *err);
/* By name or id; the project's own before everybody's. */
MUST_CHECK int store_template_find(struct store *s, struct arena *a, const char *project_id,
                                   const char *name_or_id, struct template_record *ret,
                                   struct error *err);
MUST_CHECK int store_template_list(struct store *s, struct arena *a, const char *project_id,
                                   struct template_list *ret, struct error *err);
/* Compare and set: ERROR_CONFLICT when the state is not `from`. */
MUST_CHECK int store_template_move(struct store *s, const char *id, enum template_state from,
                                   enum template_state to, const char *state_text,
                                   int64_t size_bytes, int64_t now, struct error *err);
MUST_CHECK int store_template_remove(struct store *s, const char *project_id, const char *id,
                                     struct error *err);

/* ---- sandboxes ---- */

struct sandbox_record {
	const char *id, *project_id, *name;
	const char *template_id, *template_name, *provider, *region;
	const char *labels_json, *env_json; /* {"A":"b"} */
	enum sandbox_state desired, actual;
	enum sandbox_reason reason;
	struct sandbox_resources resources; /* effective */
	bool disk_is_advisory, persistent, privileges;
	enum sandbox_network network;
	int64_t idle_reap_ms, lifetime_max_ms, timeout_at;
	int64_t created_at, started_at, stopped_at, last_activity_at;
	int64_t last_event_at;
	const char *last_event; /* "started in 4 ms" */
	int64_t version;        /* bumped by every change */
};
struct sandbox_list {
	struct sandbox_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};
struct sandbox_filter {
	const char *project_id;              /* NULL = all (server's own use) */
	int state;                           /* enum sandbox_state, -1 = any but DELETED */
	const char *name, *template;         /* exact; NULL = any */
	const char *label_key, *label_value; /* NULL = any */
	const char *page;                    /* next_page of the page before, or NULL */
	unsigned limit;                      /* 1..1000 */
};
MUST_CHECK int store_sandbox_insert(struct store *s, const struct sandbox_record *r,
                                    unsigned project_max, struct error *err);
/* By id, or by name within the project. DELETED ones are found by id only when with_deleted. */
MUST_CHECK int store_sandbox_find(struct store *s, struct arena *a, const char *project_id,
                                  const char *id_or_name, struct sandbox_record *ret,
                                  struct error *err);
MUST_CHECK int store_sandbox_list(struct store *s, struct arena *a,
                                  const struct sandbox_filter *filter, struct sandbox_list *ret,
                                  struct error *err);
struct sandbox_move {
	const char *id;
	enum sandbox_state from, to;
	int desired; /* enum sandbox_state, or -1 to leave it */
	enum sandbox_reason reason;
	const char *event; /* becomes last_event and a row in events */
	int64_t now;
	/* With to == SANDBOX_STARTED: what the provider really gave; NULL leaves them. */
	const struct sandbox_resources *effective;
	bool disk_is_advisory;
};
/* The only way a state changes: compare and set, ERROR_CONFLICT when `from` is not the state. */
MUST_CHECK int store_sandbox_move(struct store *s, const struct sandbox_move *move,
                                  struct error *err);
/* Last activity; may be written late and in batches. */
void store_sandbox_touch(struct store *s, const char *id, int64_t now);
MUST_CHECK int store_sandbox_set_timeout(struct store *s, const char *id, int64_t timeout_at,
                                         struct error *err);
/* Drops rows DELETED before `before`. */
MUST_CHECK int store_sandbox_purge(struct store *s, int64_t before, struct error *err);

struct event_record {
	int64_t sequence, at;
	const char *sandbox_id, *kind, *text;
};
struct event_list {
	struct event_record *items;
	size_t count;
};
MUST_CHECK int store_event_list(struct store *s, struct arena *a, const char *sandbox_id,
                                int64_t after, unsigned limit, struct event_list *ret,
                                struct error *err);

/* ---- sessions of /v1/sandbox: tenant + session -> sandbox ---- */

struct session_record {
	const char *project_id, *tenant_id, *session_id, *sandbox_id;
	int64_t created_at, last_used_at;
};
struct session_list {
	struct session_record *items;
	size_t count;
};
MUST_CHECK int store_session_find(struct store *s, struct arena *a, const char *project_id,
                                  const char *tenant_id, const char *session_id,
                                  struct session_record *ret, struct error *err);
/* ERROR_CONFLICT when it exists; ERROR_LIMIT when the project has sessions_max already. */
MUST_CHECK int store_session_insert(struct store *s, const struct session_record *r,
                                    unsigned sessions_max, struct error *err);
MUST_CHECK int store_session_remove(struct store *s, const char *project_id, const char *tenant_id,
                                    const char *session_id, struct error *err);
/* All sessions that point to a sandbox (when it has gone). */
MUST_CHECK int store_session_remove_of(struct store *s, const char *sandbox_id, struct error *err);
MUST_CHECK int store_session_list(struct store *s, struct arena *a, const char *project_id,
                                  struct session_list *ret, struct error *err);
