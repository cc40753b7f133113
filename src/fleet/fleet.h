/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/fleet.h — the sandboxes of this server: store, provider and rules brought together. Those
 * of other servers on the same database are found and listed; work on one is refused with
 * ERROR_CONFLICT and the name of its server.
 *
 * Every surface makes and finds sandboxes through these calls and adds nothing to them but its own
 * words. Any worker may call; calls block. The store's compare-and-set decides who acts: a lost
 * race is ERROR_CONFLICT or the winner's result. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "image/image.h"
#include "json/json.h"
#include "provider/provider.h"
#include "store/store.h"
#include "worker/worker.h"

struct fleet;
struct fleet_options {
	const struct config *config;
	struct store *store;
	struct provider *provider;
	struct worker_pool *workers; /* for create without waiting, builds, expiry */
	const char *node; /* this server among those that share the store; NULL: it is alone */
	struct blob_store *blobs; /* of backups, or NULL */
};
MUST_CHECK int fleet_open(const struct fleet_options *options, struct fleet **ret,
                          struct error *err);
/* After the workers have stopped and the provider is closed. */
void fleet_close(struct fleet *fleet);
/* At boot, before any other call: seeds templates, adopts what the provider runs, finishes
 * half-done deletes and stops, takes half-made ones away (FAILED), destroys what no row knows. One
 * that should run and is gone (HOST_LOST) is STOPPED when its files are left, and left so: its
 * owner is to know. Without files a persistent one is FAILED, an ephemeral one DELETED. */
MUST_CHECK int fleet_recover(struct fleet *fleet, struct error *err);
/* On a worker: expiry, late touches, purge, every few seconds; every second, see lease.h. */
void fleet_tick(struct fleet *fleet);
void fleet_lease_tick(struct fleet *fleet);
/* fleet_end, before the workers' end: background work ends soon. fleet_leave, before the
 * provider's: ends what runs for this process alone. */
void fleet_end(struct fleet *fleet);
void fleet_leave(struct fleet *fleet);
/* The provider's on_ended and on_again. Any thread. */
void fleet_on_ended(struct fleet *fleet, const char *id, enum sandbox_reason reason);
void fleet_on_reconnected(struct fleet *fleet);
struct fleet_mount {                         /* a volume that a sandbox is to have */
	const char *volume, *path, *subpath; /* name or id; NULL = FLEET_MOUNT_PATH; = all */
	bool is_read_only;
};
#define FLEET_MOUNT_PATH "/workspace"
#define FLEET_HOME_PATH "/home/user"
struct fleet_create {
	const char *project_id;
	const char *id;       /* a new one; NULL = generated */
	const char *key_id;   /* the caller's; NULL = none */
	const char *name;     /* NULL = generated */
	const char *template; /* NULL = config's default_template */
	const char *snapshot; /* whose files it begins with: then its template is the snapshot's */
	const char *region;
	struct json_map labels, env, own_labels; /* the last are the server's: "atoll.…" */
	struct sandbox_resources resources;      /* zeros = inherit */
	int internet;                            /* -1 = config's, 0, 1 */
	bool persistent, preview_off, preview_public;
	unsigned traits;                   /* enum sandbox_trait */
	const char *network_json, *egress; /* told again; whom it may reach: egress.h. NULL = "" */
	int64_t timeout_ms, idle_reap_ms, lifetime_max_ms; /* 0 = config's */
	int64_t idle_pause_ms, idle_stop_ms;               /* 0 = config's, -1 = never */
	int64_t archive_after_ms, delete_after_ms;         /* of being stopped; 0 = never */
	bool wait;                           /* false: answer in PENDING, a worker makes it */
	const struct fleet_awaited *awaited; /* as in fleet_ref */
	const struct fleet_mount *mounts;
	size_t mount_count;
	/* KEY: the volume "home-KEY", made when it is not there; at FLEET_HOME_PATH or the path. */
	const char *persistent_home, *persistent_home_path;
	int64_t persistent_home_mb;    /* its size when it is made; 0 = a volume's default */
	const struct build_base *base; /* of a build, see builds.h; NULL = the template's */
	struct lease_claim *claim;     /* of a lease, see lease_parts.h; NULL = none */
};
MUST_CHECK int fleet_create(struct fleet *fleet, struct arena *a,
                            const struct fleet_create *request, struct sandbox_record *ret,
                            struct error *err);
struct fleet_ref {
	const char *project_id, *id_or_name; /* of a sandbox or a template */
	const struct fleet_use *use;         /* for fleet_hold: what is metered; NULL = nothing */
	const struct fleet_awaited *awaited; /* NULL: the thread waits; else see waiting.h */
};
MUST_CHECK int fleet_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_start(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           struct sandbox_record *ret, struct error *err);
/* One that is paused is stopped before: it begins anew from its files. */
MUST_CHECK int fleet_start_anew(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_stop(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct error *err);
/* Returns when nothing inside runs any more. Fine on one that is going already. */
MUST_CHECK int fleet_delete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            enum sandbox_reason reason, struct error *err);
MUST_CHECK int fleet_stats(struct fleet *fleet, const struct sandbox_record *r,
                           struct provider_stats *ret, struct error *err);

/* All processes inside stand still, their memory stays; any use of it, or fleet_resume, wakes it.
 * Fine when it is so already. fleet_resume on a stopped one is refused. */
MUST_CHECK int fleet_pause(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_resume(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            struct sandbox_record *ret, struct error *err);

/* A started sandbox that a call is about to use: wakes one that is asleep, refuses other states
 * with what to do, touches it, and holds it off the reaper until fleet_unhold. */
struct fleet_hold {
	struct fleet *fleet;
	char id[ID_SIZE + 1];
	struct provider *provider;
	unsigned use; /* the meter's number of it; 0 = none */
};
MUST_CHECK int fleet_hold(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct fleet_hold *ret_hold,
                          struct error *err);
/* The same, if it and fleet_defaults can be answered from memory just now; else false. */
bool fleet_hold_warm(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     struct sandbox_record *ret, struct fleet_hold *ret_hold);
void fleet_unhold(struct fleet_hold *hold); /* any thread, once; NULL or zeroed is fine */
/* Bytes have come for it: has a worker wake it, should it be asleep. Any thread. */
void fleet_wake(const struct fleet_hold *hold);
/* The command environment and defaults that the sandbox's template and row give: NULL-terminated
 * "KEY=value" texts, row over template, `extra` over both. */
struct fleet_defaults {
	const char **env, *user, *workdir;
};
MUST_CHECK int fleet_defaults(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                              const struct json_map *extra, struct fleet_defaults *ret,
                              struct error *err);

/* ---- templates ---- */

/* Idempotent: default templates that are missing are added. */
MUST_CHECK int fleet_templates_seed(struct fleet *fleet, unsigned *ret_added, struct error *err);
/* Makes sure that its root filesystem is there: builds it on first use, waits for a build that runs
 * already, up to `deadline`. Progress is state_text of the record. */
MUST_CHECK int fleet_template_ready(struct fleet *fleet, struct arena *a, struct template_record *t,
                                    int64_t deadline, struct error *err);
/* What a template gives its sandboxes. NULL, or a map that is not `present`: not given, so left as
 * it is, or as the image or the source template has it. */
struct fleet_recipe {
	const char *description, *runtime, *user, *workdir;
	const char *isolation; /* the provider's, or it is refused */
	struct json_map env;
	const char *const *entrypoint; /* NULL-terminated */
	const int64_t *ports;
	size_t port_count;
	const struct sandbox_resources *resources; /* zeros = inherit */
	const struct fleet_pool_size *pool;        /* see fleet/pools.h */
	const struct fleet_warm *warm;             /* see fleet/warm.h */
	const struct sandbox_idle *idle;           /* or NULL; see sandbox_idle_change */
};
MUST_CHECK int fleet_recipe_check(const struct fleet *fleet, const struct fleet_recipe *recipe,
                                  struct error *err);
/* For sandboxes that are made from then on. One that is there has the new entrypoint when it is
 * started again; its commands may see the rest once it or the server has started again. Refuses
 * what is not the project's own; a NULL project is the server's operator. */
MUST_CHECK int fleet_template_change(struct fleet *fleet, struct arena *a,
                                     const struct fleet_ref *ref, const struct fleet_recipe *recipe,
                                     struct template_record *ret, struct error *err);
struct fleet_derive {
	const char *project_id, *name, *from;
	const struct fleet_recipe *recipe;
};
/* A template on the root filesystem of another one, which is built first if need be. The folder
 * stays until the last template that uses it is removed. */
MUST_CHECK int fleet_template_derive(struct fleet *fleet, struct arena *a,
                                     const struct fleet_derive *request,
                                     struct template_record *ret, struct error *err);
struct fleet_import {
	const char *project_id, *name, *description, *reference; /* the last: IMAGE_REGISTRY */
	enum image_format format;
	const struct image_login *login;   /* at its registry; NULL = none */
	int source_fd;                     /* all but IMAGE_REGISTRY; owned by the caller */
	const struct fleet_recipe *recipe; /* over what the image says; may be NULL */
};
MUST_CHECK int fleet_template_import(struct fleet *fleet, struct arena *a,
                                     const struct fleet_import *request,
                                     struct template_record *ret, struct error *err);
/* Refused with ERROR_CONFLICT while a sandbox uses it. */
MUST_CHECK int fleet_template_remove(struct fleet *fleet, const char *project_id,
                                     const char *name_or_id, struct error *err);

/* Ends all that is the project's. `with_sandboxes` false: ERROR_CONFLICT while it has any. Once
 * begun it cannot be taken back: after a failure it stays closed, and the next call goes on. */
MUST_CHECK int fleet_project_remove(struct fleet *fleet, const char *id, bool with_sandboxes,
                                    struct error *err);

struct fleet_counts {
	uint64_t by_state[SANDBOX_STATE_COUNT];
	uint64_t created, create_failed, deleted, execs, held, create_us_total;
};
struct fleet_counts fleet_counts_get(struct fleet *fleet);
