/* SPDX-License-Identifier: Apache-2.0 */
/* store/sandboxes.h — sandboxes: their rows, states and settings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/sandbox.h"
#include "store/sandbox_record.h"

struct lease_record;
struct mount_list;
struct store;

/* Inserts a row in any state; last_event becomes its first event. ERROR_NOT_FOUND when its template
 * is gone, ERROR_LIMIT when the project has project_max living sandboxes (0 = no limit). The name
 * is taken while the sandbox is living: neither failed nor being deleted. */
MUST_CHECK int store_sandbox_insert(struct store *s, const struct sandbox_record *r,
                                    unsigned project_max, struct error *err);

/* A row with everything that belongs to it, inserted as a whole or not at all. */
struct sandbox_insertion {
	const struct sandbox_record *record;
	unsigned project_max;
	int64_t project_version;          /* of the project_record that was read; 0 = any */
	const struct mount_list *mounts;  /* NULL = none */
	const char *origin;               /* snapshot that its files begin with; NULL = none */
	const struct lease_record *claim; /* lease that takes the sandbox; NULL = none */
	bool is_stored_provider;          /* its provider is one of store/providers.h */
	/* Called when only the commit is left, perhaps more than once; must not wait; or NULL. */
	void (*on_accepted)(void *context);
	void *context;
	/* Why the insertion failed with ERROR_CONFLICT, besides a taken name or volume. */
	bool is_outdated;      /* the project has another version */
	bool is_claim_lost;    /* the lease has changed */
	bool is_provider_lost; /* the stored provider makes no more sandboxes */
};

MUST_CHECK int store_sandbox_insert_with(struct store *s, struct sandbox_insertion *insertion,
                                         struct error *err);

/* Finds by id, or by name within the project (NULL = any project, by id). A living sandbox precedes
 * others with its name; DELETED ones are not found. */
MUST_CHECK int store_sandbox_find(struct store *s, struct arena *a, const char *project_id,
                                  const char *id_or_name, struct sandbox_record *ret,
                                  struct error *err);

/* Finds by name in any project. ERROR_CONFLICT lists the sandboxes when several have the name. */
MUST_CHECK int store_sandbox_find_anywhere(struct store *s, struct arena *a, const char *name,
                                           struct sandbox_record *ret, struct error *err);

/* Newest first, unless the filter has an order. A page continues after the last row of the page
 * before, whatever was inserted or deleted meanwhile; a row whose value of the order changes may be
 * missed or listed twice. */
MUST_CHECK int store_sandbox_list(struct store *s, struct arena *a,
                                  const struct sandbox_filter *filter, struct sandbox_list *ret,
                                  struct error *err);
/* Number of rows on all pages; the filter has a project. */
MUST_CHECK int store_sandbox_total(struct store *s, const struct sandbox_filter *filter,
                                   int64_t *ret, struct error *err);

struct sandbox_move {
	const char *id;
	enum sandbox_state from;
	enum sandbox_state to;
	int desired;                /* enum sandbox_state, or -1 = unchanged */
	enum sandbox_reason reason; /* NONE keeps the current reason until the next start */
	const char *event;          /* becomes last_event and a row in events */
	int64_t now;
	const struct sandbox_resources
	        *effective; /* with STARTED: actual limits; NULL = unchanged */
	bool disk_is_advisory;
	bool is_lazy;                    /* also for moves into a resting state */
	unsigned traits_gained;          /* bits of enum sandbox_trait */
	unsigned traits_lost;            /* bits of enum sandbox_trait */
	unsigned project_max;            /* limit when a deleted sandbox is restored; 0 = none */
	const struct mount_list *mounts; /* replace the mounts of a restored sandbox; NULL = keep */
	/* Finishes this lease (store_lease_finish), even when it names another sandbox by now. */
	const struct lease_record *lease; /* NULL = none */
	bool *ret_lease_lost;
};

/* The only call that changes a state. Compare and set: ERROR_CONFLICT when the state is not `from`.
 * A move into a resting state (STARTED, PAUSED, STOPPED, DELETED, FAILED) is on the disk when the
 * call returns, unless is_lazy; a move into another state is always lazy. */
MUST_CHECK int store_sandbox_move(struct store *s, const struct sandbox_move *move,
                                  struct error *err);

/* Like store_sandbox_move, and reads the new row. */
MUST_CHECK int store_sandbox_move_read(struct store *s, struct arena *a,
                                       const struct sandbox_move *move, struct sandbox_record *ret,
                                       struct error *err);

/* Sets the desired state for the operation that is running on the sandbox: compare and set on the
 * actual state. */
MUST_CHECK int store_sandbox_set_desired(struct store *s, const char *id, enum sandbox_state actual,
                                         enum sandbox_state desired, struct error *err);

/* Sets last_activity_at; the write may be delayed and batched. */
void store_sandbox_touch(struct store *s, const char *id, int64_t now);
MUST_CHECK int store_sandbox_set_timeout(struct store *s, struct arena *a, const char *id,
                                         int64_t timeout_at, struct sandbox_record *ret,
                                         struct error *err);

/* Turns off automatic archiving. */
MUST_CHECK int store_sandbox_keep_files(struct store *s, const char *id, struct error *err);

struct sandbox_keep {
	const char *id;
	int64_t until; /* 0 = no longer than other sandboxes */
};

/* Keeps the sandbox awake until `until`, and extends its timeout to that time. ERROR_NOT_FOUND when
 * it is being deleted. Lazy, like a timeout: a crashed machine runs no sandbox. */
MUST_CHECK int store_sandbox_keep(struct store *s, struct arena *a, const struct sandbox_keep *keep,
                                  struct sandbox_record *ret, struct error *err);

struct sandbox_preview {
	const char *id;
	bool off;
	bool is_public;
	int64_t generation;
};

/* On the disk when the call returns, so a revoked preview stays revoked. */
MUST_CHECK int store_sandbox_set_preview(struct store *s, struct arena *a,
                                         const struct sandbox_preview *preview,
                                         struct sandbox_record *ret, struct error *err);

struct sandbox_egress_change {
	const char *id, *egress, *rules_json; /* as in struct sandbox_record */
};
/* On the disk when the call returns. */
MUST_CHECK int store_sandbox_set_egress(struct store *s, struct arena *a,
                                        const struct sandbox_egress_change *change,
                                        struct sandbox_record *ret, struct error *err);

struct sandbox_provider_change {
	const char *id, *provider, *placed;
	bool is_stored; /* the provider is one of store/providers.h */
};
/* Another provider makes a sandbox that is in CREATING. Lazy: recovery fails such a sandbox.
 * ERROR_CONFLICT when a stored provider makes no more. */
MUST_CHECK int store_sandbox_set_provider(struct store *s, struct arena *a,
                                          const struct sandbox_provider_change *change,
                                          struct sandbox_record *ret, struct error *err);

struct sandbox_settings {
	const char *id;
	const char *name; /* NULL = unchanged */
	int64_t version;  /* the row must have this version; 0 = any */
	const char *labels_json;
	bool persistent;
	int64_t timeout_at;
	struct sandbox_timeouts timeouts;
};

/* Writes all settings together. ERROR_CONFLICT when the row has another version, or a living
 * sandbox of the project has the name. */
MUST_CHECK int store_sandbox_set(struct store *s, struct arena *a,
                                 const struct sandbox_settings *settings,
                                 struct sandbox_record *ret, struct error *err);

/* New limits or a new environment of a sandbox. */
struct sandbox_revision {
	const char *id;
	const char *env_json;
	struct sandbox_resources resources;
	bool is_quiet; /* no event for changed limits */
};

/* Both are on the disk when the call returns. */
MUST_CHECK int store_sandbox_set_resources(struct store *s, struct arena *a,
                                           const struct sandbox_revision *change,
                                           struct sandbox_record *ret, struct error *err);
MUST_CHECK int store_sandbox_set_env(struct store *s, struct arena *a,
                                     const struct sandbox_revision *change,
                                     struct sandbox_record *ret, struct error *err);

MUST_CHECK int store_sandbox_count(struct store *s, uint64_t ret_by_state[SANDBOX_STATE_COUNT],
                                   struct error *err);

struct provider_tally {
	const char *provider;
	int64_t count;
};
struct provider_tallies {
	struct provider_tally *items;
	size_t count;
};
/* Counts the sandboxes of a node that are neither deleted nor failed, for each provider. */
MUST_CHECK int store_sandbox_tally(struct store *s, struct arena *a, const char *node,
                                   struct provider_tallies *ret, struct error *err);

/* Assigns rows without a node to this node. */
MUST_CHECK int store_sandbox_adopt(struct store *s, const char *node, struct error *err);

/* Drops rows that were DELETED before `before`; their events stay as long as others. */
MUST_CHECK int store_sandbox_purge(struct store *s, int64_t before, struct error *err);
