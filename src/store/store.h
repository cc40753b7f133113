/* SPDX-License-Identifier: Apache-2.0 */
/* store/store.h — durable facts, in the words of the domain; SQL stays inside.
 *
 * Any thread may call; a call is one transaction and blocks for its commit. Records are copied into
 * the caller's arena. ERROR_NOT_FOUND and ERROR_CONFLICT (a unique name or id that is taken, or
 * a lost compare-and-set) are ordinary answers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "sandbox/sandbox.h"
#include "store/records.h"

struct store;

/* "sqlite:/path/atoll.db", "sqlite::memory:", "postgresql://user@host/name" or "postgresql:" and
 * what libpq calls a conninfo. Creates and migrates. */
MUST_CHECK int store_open(const char *dsn, struct store **ret, struct error *err);
void store_close(struct store *store); /* writes what waits; NULL is fine */
MUST_CHECK int store_ping(struct store *store, struct error *err);
/* Every few seconds: writes the touches that wait and keeps the files small. */
MUST_CHECK int store_tidy(struct store *store, struct error *err);

/* Changes that are told to be lazy are written when their call returns and survive a crash of
 * Atoll; one of the machine only once they have come to the disk. This begins to bring all that is
 * written there and does not wait; the other one waits. So what a caller promises can become
 * durable while he does something else. */
uint64_t store_sync_begin(struct store *store);
MUST_CHECK int store_sync_wait(struct store *store, uint64_t sync, struct error *err);

/* ---- projects and keys ---- */

MUST_CHECK int store_project_insert(struct store *s, const struct project_record *r,
                                    struct error *err);
MUST_CHECK int store_project_find(struct store *s, struct arena *a, const char *id,
                                  struct project_record *ret, struct error *err);
MUST_CHECK int store_project_set_defaults(struct store *s, const char *id,
                                          const struct sandbox_resources *defaults,
                                          struct error *err);
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

MUST_CHECK int store_template_insert(struct store *s, const struct template_record *r,
                                     struct error *err);
/* By name or id; the project's own before everybody's. */
MUST_CHECK int store_template_find(struct store *s, struct arena *a, const char *project_id,
                                   const char *name_or_id, struct template_record *ret,
                                   struct error *err);
MUST_CHECK int store_template_list(struct store *s, struct arena *a, const char *project_id,
                                   struct template_list *ret, struct error *err);
struct template_move {
	const char *id;
	enum template_state from, to; /* the same for progress */
	const char *state_text;
	int64_t size_bytes; /* 0 leaves it */
	int64_t now;
	const char *node; /* NULL leaves it */
};
/* Compare and set: ERROR_CONFLICT when the state is not `from`. */
MUST_CHECK int store_template_move(struct store *s, const struct template_move *move,
                                   struct error *err);
/* All but id, project, name, folder, state and created_at. */
MUST_CHECK int store_template_update(struct store *s, const struct template_record *r,
                                     struct error *err);
/* Whether any template has its root filesystem in the folder. */
MUST_CHECK int store_template_shares(struct store *s, const char *folder, bool *ret,
                                     struct error *err);
/* ERROR_CONFLICT while a snapshot, or a sandbox that is not deleted, was made from it. */
MUST_CHECK int store_template_remove(struct store *s, const char *project_id, const char *id,
                                     struct error *err);

/* ---- sandboxes ---- */

/* In any state; last_event becomes its first event. ERROR_NOT_FOUND when its template is gone,
 * ERROR_LIMIT when the project has project_max living ones; 0 = no limit. A name is taken while
 * its sandbox is living: neither failed nor on its way out. */
MUST_CHECK int store_sandbox_insert(struct store *s, const struct sandbox_record *r,
                                    unsigned project_max, struct error *err);
/* The same with what belongs to it, all of it or nothing. */
struct sandbox_insertion {
	const struct sandbox_record *record;
	unsigned project_max;
	/* Of the project_record that the row was worked out from; 0 = whatever it is like. */
	int64_t project_version;
	const struct mount_list *mounts;  /* volumes.h; NULL = none */
	const char *origin;               /* the snapshot that its files begin with; NULL = none */
	const struct lease_record *claim; /* whose sandbox it is to be, see leases.h; NULL = none */
	/* Called when only the commit is left, perhaps more than once; must not wait. Or NULL. */
	void (*on_accepted)(void *context);
	void *context;
	/* Why it was ERROR_CONFLICT, when it was not the name or a volume: */
	bool is_outdated;   /* the project has another version */
	bool is_claim_lost; /* somebody else has the lease */
};
MUST_CHECK int store_sandbox_insert_with(struct store *s, struct sandbox_insertion *insertion,
                                         struct error *err);
/* By id, or by name within the project (NULL = any, by id), the living one first; none DELETED. */
MUST_CHECK int store_sandbox_find(struct store *s, struct arena *a, const char *project_id,
                                  const char *id_or_name, struct sandbox_record *ret,
                                  struct error *err);
/* By name, in any project: ERROR_CONFLICT, naming them, when several have one. */
MUST_CHECK int store_sandbox_find_anywhere(struct store *s, struct arena *a, const char *name,
                                           struct sandbox_record *ret, struct error *err);
/* Newest first. */
MUST_CHECK int store_sandbox_list(struct store *s, struct arena *a,
                                  const struct sandbox_filter *filter, struct sandbox_list *ret,
                                  struct error *err);
struct sandbox_move {
	const char *id;
	enum sandbox_state from, to;
	int desired;                /* enum sandbox_state, or -1 to leave it */
	enum sandbox_reason reason; /* NONE keeps the one that is there, until it starts again */
	const char *event;          /* becomes last_event and a row in events */
	int64_t now;
	const struct sandbox_resources *effective; /* with STARTED: what it got; NULL: as before */
	bool disk_is_advisory, is_lazy;      /* lazy: also into a state that something rests in */
	unsigned traits_gained, traits_lost; /* bits of enum sandbox_trait */
	unsigned project_max;                /* for a deleted one that comes back; 0 = any number */
	const struct mount_list *mounts; /* of such a one, in place of its mounts; NULL: those */
	/* Is finished with it (store_lease_finish), also when it names another sandbox by now. */
	const struct lease_record *lease; /* NULL = none */
	bool *ret_lease_lost;
};
/* The only way a state changes: compare and set, ERROR_CONFLICT when `from` is not the state.
 * States that something rests in (STARTED, PAUSED, STOPPED, DELETED, FAILED) are on the disk when
 * the call returns, unless it is lazy; moves to those in between always are. */
MUST_CHECK int store_sandbox_move(struct store *s, const struct sandbox_move *move,
                                  struct error *err);
/* The same, and the row as it is now. */
MUST_CHECK int store_sandbox_move_read(struct store *s, struct arena *a,
                                       const struct sandbox_move *move, struct sandbox_record *ret,
                                       struct error *err);
/* Leaves a wish to the one who is at work on it: compare and set on the actual state. */
MUST_CHECK int store_sandbox_want(struct store *s, const char *id, enum sandbox_state actual,
                                  enum sandbox_state desired, struct error *err);
struct sandbox_keep {
	const char *id;
	int64_t until;
};
/* Last activity; may be written late and in batches. */
void store_sandbox_touch(struct store *s, const char *id, int64_t now);
MUST_CHECK int store_sandbox_set_timeout(struct store *s, struct arena *a, const char *id,
                                         int64_t timeout_at, struct sandbox_record *ret,
                                         struct error *err);
/* It is not archived by itself any more. */
MUST_CHECK int store_sandbox_keep_files(struct store *s, const char *id, struct error *err);
/* Awake until `until`, 0 = no longer than others; its timeout is no earlier. ERROR_NOT_FOUND when
 * it is on its way out. May, as a timeout, be lost with the machine, on which nothing runs then. */
MUST_CHECK int store_sandbox_keep(struct store *s, struct arena *a, const struct sandbox_keep *keep,
                                  struct sandbox_record *ret, struct error *err);
struct sandbox_preview {
	const char *id;
	bool off, is_public;
	int64_t generation;
};
/* On the disk when the call returns: what was taken back stays so. */
MUST_CHECK int store_sandbox_set_preview(struct store *s, struct arena *a,
                                         const struct sandbox_preview *preview,
                                         struct sandbox_record *ret, struct error *err);
struct sandbox_settings {
	const char *id, *labels_json;
	bool persistent;
	int64_t timeout_at, idle_reap_ms, lifetime_max_ms;
	int64_t idle_pause_ms, idle_stop_ms, archive_after_ms, delete_after_ms;
};
/* All of them at once. */
MUST_CHECK int store_sandbox_set(struct store *s, struct arena *a,
                                 const struct sandbox_settings *settings,
                                 struct sandbox_record *ret, struct error *err);
/* Its limits and its environment. On the disk when the call returns. */
struct sandbox_revision {
	const char *id, *env_json;
	struct sandbox_resources resources;
	bool is_quiet; /* no event tells of its limits */
};
MUST_CHECK int store_sandbox_set_resources(struct store *s, struct arena *a,
                                           const struct sandbox_revision *change,
                                           struct sandbox_record *ret, struct error *err);
MUST_CHECK int store_sandbox_set_env(struct store *s, struct arena *a,
                                     const struct sandbox_revision *change,
                                     struct sandbox_record *ret, struct error *err);
MUST_CHECK int store_sandbox_count(struct store *s, uint64_t ret_by_state[SANDBOX_STATE_COUNT],
                                   struct error *err);
/* Rows from before there were nodes become this one's. */
MUST_CHECK int store_sandbox_adopt(struct store *s, const char *node, struct error *err);
/* Drops rows DELETED before `before`; their events stay as long as others. */
MUST_CHECK int store_sandbox_purge(struct store *s, int64_t before, struct error *err);
