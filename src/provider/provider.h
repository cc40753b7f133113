/* SPDX-License-Identifier: Apache-2.0 */
/* provider/provider.h — the contract between Atoll and a thing that can run a sandbox.
 *
 * Two tables: provider_ops makes, ends and lists sandboxes; compute_ops runs things in one. The
 * core checks `abilities` before it calls; an absent ability is refused by provider_require with
 * ERROR_UNSUPPORTED naming the provider and the ability, never faked. Calls block, are made on
 * workers, by any number of threads at once, and each is bounded by its deadline. A call either did
 * what it says or leaves nothing behind. `provider/null/null.c` is the shortest whole example. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "sandbox/sandbox.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/broker.h"

enum provider_ability {
	PROVIDER_CAN_STOP = 1 << 0, /* stop keeps the files, start brings them back */
	PROVIDER_CAN_EXEC = 1 << 1,
	PROVIDER_CAN_PTY = 1 << 2,
	PROVIDER_CAN_FILES = 1 << 3,
	PROVIDER_CAN_STATS = 1 << 4,
	PROVIDER_CAN_BLOCK_NETWORK = 1 << 5,
	PROVIDER_CAN_LIMIT = 1 << 6,      /* memory, cpu and pids are enforced */
	PROVIDER_CAN_LIMIT_DISK = 1 << 7, /* else disk_mb is advisory */
	PROVIDER_CAN_ISOLATE = 1 << 8,    /* code inside cannot reach the host or other sandboxes */
	PROVIDER_SURVIVES = 1 << 9,      /* sandboxes outlive this process; list finds them again */
	PROVIDER_CAN_TEMPLATE = 1 << 10, /* null: its templates are only names, so this succeeds */
	PROVIDER_CAN_PAUSE = 1 << 11,    /* pause keeps memory and processes, and runs nothing */
	PROVIDER_CAN_SNAPSHOT = 1 << 12, /* files of a sandbox, also of a started one */
	PROVIDER_CAN_VOLUME = 1 << 13,   /* storage of its own outlives its sandboxes */
	PROVIDER_CAN_POOL = 1 << 14,     /* prepares sandboxes before they are asked for */
	PROVIDER_CAN_DIAL = 1 << 15,     /* reaches servers inside; see provider/dial.h */
	PROVIDER_CAN_FILTER = 1 << 16,   /* keeps one from addresses; see sandbox/egress.h */
	PROVIDER_CAN_MEASURE = 1 << 17,  /* counts what something takes of the disk */
};
const char *provider_ability_name(enum provider_ability ability);

struct provider; /* each provider's own; first member is `const struct provider_ops *ops` */
struct provider_options {
	const char *data_dir;
	const char *broker_socket; /* for native and host */
	/* A sandbox ended by itself; SANDBOX_REASON_DISK: it is paused. Called on a thread of the
	 * provider; must not call back into it. */
	void (*on_ended)(void *context, const char *id, enum sandbox_reason reason);
	/* What holds the sandboxes was started again: it has found them, but not what it was told
	 * of their rules. As on_ended. */
	void (*on_again)(void *context);
	void *context;
};

struct provider_created {
	bool disk_is_advisory;
	struct sandbox_resources effective;
	int64_t took_us;
};
struct provider_entry {
	char id[ID_SIZE + 1];
	bool running; /* false: only files are left */
	bool paused;  /* it runs, and is paused */
	/* As its spec said, while it runs; "" and 0 when that is not known. */
	char owner[ID_SIZE + 1];
	int64_t lease_epoch;
};
struct provider_list {
	struct provider_entry *entries; /* in the arena */
	size_t count;
};

struct provider_stats {
	int64_t sampled_unix_ms, uptime_ms;
	uint64_t cpu_usage_us; /* since the start */
	uint64_t memory_bytes, memory_limit_bytes;
	uint64_t disk_bytes, disk_limit_bytes; /* disk_bytes: files on top of the template;
	                                          UINT64_MAX = not known */
	uint64_t pids, pids_limit;
	uint64_t network_in_bytes, network_out_bytes, oom_kills;
};

/* Builds, imports or removes the root filesystem of a template: the folder DATA/templates/NAME. */
struct provider_template {
	enum broker_template_verb verb;
	const char *name;   /* of the folder */
	const char *recipe; /* BUILD: "base". IMPORT: "tar", "oci", "docker-archive", "registry" */
	const char *source; /* IMPORT of "registry": its reference; else NULL */
	int source_fd;      /* IMPORT of a file, or the login of a registry: it, owned by the
	                       caller; else -1 */
	/* Called with each progress line, on the calling thread. May be NULL. */
	void (*on_progress)(void *context, int percent, const char *text);
	uint64_t size_max; /* IMPORT: ERROR_LIMIT beyond; 0 = what an image may have */
	void (*on_size)(void *context, int64_t bytes); /* it has become so large; or NULL */
	bool (*is_given_up)(void *context);            /* asked every second or so; NULL: never */
	void *context;
};

/* Of a sandbox that is made and ended at once. */
struct provider_probe {
	enum sandbox_network network;
	const char *egress; /* as of sandbox_spec; NULL = no rules */
};

struct provider_ops {
	const char *name;
	const char *isolation; /* honest label for users: "namespaces", "none" … */
	unsigned abilities;

	int (*open)(const struct provider_options *options, struct provider **ret,
	            struct error *err);
	void (*close)(struct provider *p);
	/* The server is ending: a call that would wait for somebody who is away fails at once from
	 * here on, for nobody brings him back. What is under way goes on. May be NULL. */
	void (*last_calls)(struct provider *p);

	/* Makes and starts. ERROR_CONFLICT when the id exists. */
	int (*create)(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
	              struct provider_created *ret, struct error *err);
	/* The two halves of create, for who has something to do meanwhile. The first never waits:
	 * when it would have to, it is NULL, and nothing was begun. What was begun is ended, and
	 * the spec is there until then. Both NULL: there is only create. */
	struct provider_creation *(*create_begin)(struct provider *p,
	                                          const struct sandbox_spec *spec);
	int (*create_end)(struct provider *p, struct provider_creation *creation, int64_t deadline,
	                  struct provider_created *ret, struct error *err);
	/* Ends it and removes all that was its. Fine when it does not exist. Returns when nothing
	 * inside runs any more; the rest may be cleared up behind the call. */
	int (*destroy)(struct provider *p, const char *id, int64_t deadline, struct error *err);
	/* PROVIDER_CAN_STOP. Fine when it is stopped, or started, already. */
	int (*stop)(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
	            struct error *err);
	int (*start)(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
	             struct provider_created *ret, struct error *err);
	/* PROVIDER_CAN_PAUSE. Returns when nothing inside runs, or when all runs again. Fine when
	 * it is so already; stop and destroy end a paused one, too. What is sent to the agent of a
	 * paused one waits. */
	int (*pause)(struct provider *p, const char *id, int64_t deadline, struct error *err);
	int (*resume)(struct provider *p, const char *id, int64_t deadline, struct error *err);
	/* PROVIDER_CAN_LIMIT. Other cpu, memory and pids for one that runs, paused or not, at once;
	 * its disk stays. ERROR_CONFLICT for less memory than it uses. */
	int (*limit)(struct provider *p, const char *id, const struct sandbox_resources *resources,
	             int64_t deadline, struct error *err);
	/* PROVIDER_CAN_FILTER. Other rules for one that runs, in place of those of its spec: they
	 * hold when it returns, for connections that are there, too. */
	int (*filter)(struct provider *p, const char *id, const char *egress, int64_t deadline,
	              struct error *err);
	/* What exists, by the provider's own word: for adoption and the orphan sweep. */
	int (*list)(struct provider *p, struct arena *a, struct provider_list *ret,
	            struct error *err);
	int (*stats)(struct provider *p, const char *id, struct provider_stats *ret,
	             struct error *err);
	/* PROVIDER_CAN_MEASURE. What of the disk is one's alone, in bytes; at least so many when
	 * there is too much to count. It is counted, behind everybody else's back: some seconds.
	 * ERROR_UNAVAILABLE: another one is being measured. */
	int (*measure)(struct provider *p, enum broker_measured_kind kind, const char *id,
	               int64_t deadline, uint64_t *ret, struct error *err);
	int (*health)(struct provider *p, struct error *err);
	/* Makes a sandbox of this kind and ends it; no list and no metric has it. NULL: there is
	 * nothing to try. */
	int (*probe)(struct provider *p, const struct provider_probe *probe, int64_t deadline,
	             struct error *err);
	/* PROVIDER_CAN_TEMPLATE; call it through provider_template. */
	int (*template_make)(struct provider *p, const struct provider_template *request,
	                     int64_t deadline, struct error *err);
	const struct snapshot_ops *snapshots; /* PROVIDER_CAN_SNAPSHOT; see snapshots.h */
	const struct volume_ops *volumes;     /* PROVIDER_CAN_VOLUME; see provider/volume.h */
	const struct pool_ops *pools;         /* PROVIDER_CAN_POOL; see provider/pool.h */
	const struct trash_ops *trash;        /* NULL: it has none; see provider/trash.h */
	const struct compute_ops *compute;
};

/* Runs things in one sandbox. `connect` gives a stream that speaks wire/agent.h: the agent itself
 * for native, host, docker, microvm, kubernetes; for remote services a translator behind a socket
 * pair. All else is built on it in provider/compute.c, once. */
struct compute_ops {
	/* A new connection. */
	int (*connect)(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
	               struct error *err);
	/* One that was given back and waits for a request, or -1. May be NULL. */
	int (*take)(struct provider *p, const char *id);
	/* A process connection whose last reply has ended: kept for the next request, or closed. */
	void (*give_back)(struct provider *p, const char *id, int fd);
};

extern const struct provider_ops *const providers[]; /* null, host, native, NULL */
const struct provider_ops *provider_find(const char *name);
const struct provider_ops *provider_ops_of(const struct provider *p);
MUST_CHECK int provider_require(const struct provider *p, enum provider_ability ability,
                                struct error *err);

/* Blocks until the template's folder is whole (or gone) or nothing is left of the attempt. REMOVE
 * of a missing one is fine; making one that exists is ERROR_CONFLICT. When the deadline passes, the
 * work is ended, not abandoned. */
MUST_CHECK int provider_template(struct provider *p, const struct provider_template *request,
                                 int64_t deadline, struct error *err);

#include "provider/compute.h" /* calls of what runs inside */
