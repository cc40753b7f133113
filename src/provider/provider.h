/* SPDX-License-Identifier: Apache-2.0 */
/* provider/provider.h — the contract between Atoll and a program that runs sandboxes.
 *
 * Two tables: provider_ops makes, ends and lists sandboxes; compute_ops (provider/compute.h)
 * connects to the agent inside one. The caller checks `abilities` first; provider_require refuses
 * an absent one by name.
 *
 * Calls block until their deadline at most, from any number of worker threads at once. A call that
 * fails leaves nothing behind. `provider/null/null.c` is the shortest whole example. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sandbox/sandbox.h"

struct compute_ops; /* provider/compute.h */
struct memory_ops;
struct pool_ops;
struct provider_list;
struct provider_shared;
struct provider_template;
struct report_ops;
struct snapshot_ops;
struct trash_ops;
struct volume_ops;

enum provider_ability {
	PROVIDER_CAN_STOP = 1 << 0, /* stop keeps the files; start runs the sandbox on them again */
	PROVIDER_CAN_EXEC = 1 << 1,
	PROVIDER_CAN_PTY = 1 << 2,
	PROVIDER_CAN_FILES = 1 << 3,
	PROVIDER_CAN_STATS = 1 << 4,
	PROVIDER_CAN_BLOCK_NETWORK = 1 << 5,
	PROVIDER_CAN_LIMIT = 1 << 6,      /* memory, cpu and pids are enforced */
	PROVIDER_CAN_LIMIT_DISK = 1 << 7, /* absent: disk_mb is advisory */
	PROVIDER_CAN_ISOLATE = 1 << 8,    /* code inside cannot reach the host or other sandboxes */
	PROVIDER_SURVIVES = 1 << 9,      /* sandboxes outlive this process; list finds them again */
	PROVIDER_CAN_TEMPLATE = 1 << 10, /* null: its templates are only names */
	PROVIDER_CAN_PAUSE = 1 << 11,    /* pause keeps memory and processes, and runs nothing */
	PROVIDER_CAN_SNAPSHOT = 1 << 12, /* of the files, also while the sandbox runs */
	PROVIDER_CAN_VOLUME = 1 << 13,   /* storage that outlives its sandboxes */
	PROVIDER_CAN_POOL = 1 << 14,     /* prepares sandboxes before a create */
	PROVIDER_CAN_DIAL = 1 << 15,     /* reaches servers inside; see provider/dial.h */
	PROVIDER_CAN_FILTER = 1 << 16,   /* enforces network rules; see sandbox/egress.h */
	PROVIDER_CAN_MEASURE = 1 << 17,  /* counts the disk bytes of an object */
	PROVIDER_CAN_REVIEW = 1 << 18,   /* compares files; see sandbox_spec.review */
	PROVIDER_CAN_BACKUP = 1 << 19,   /* snapshot_ops.backup */
	PROVIDER_CAN_BUILD = 1 << 20,    /* its snapshots are layers that templates can lie on */
	PROVIDER_CAN_GPU = 1 << 21,      /* see sandbox_spec.gpus */
	PROVIDER_CAN_GPU_NETWORK = 1 << 22, /* also to a sandbox that has a network */
	PROVIDER_CAN_KEEP_MEMORY = 1 << 23, /* memory on disk; in snapshots, too */
	PROVIDER_CAN_LEAVE_BY = 1 << 24,    /* see sandbox_egress_leave_by; needs FILTER */
	PROVIDER_CAN_CUT = 1 << 25,         /* its filter understands a cut; see sandbox/egress.h */
};
#define PROVIDER_ABILITY_COUNT 26
const char *provider_ability_name(enum provider_ability ability);

struct provider_end; /* end.h */
struct provider;     /* the first member of each kind's own is `const struct provider_ops *ops` */

/* The callbacks run on a thread of the provider and must not call back into it. */
struct provider_options {
	const char *name; /* of the member of the set; NULL: the kind's */
	const char *data_dir;
	const struct provider_shared *shared; /* for kinds with is_shared; NULL: not known */
	const char *broker_socket;            /* for native and host */
	/* provider/kind_options.h */
	const struct docker_options *docker;
	const struct microvm_options *microvm;
	const struct remote_options *remote;
	const struct lambda_options *lambda;
	void (*on_ended)(void *context, const char *id, const struct provider_end *end);
	/* The program of the sandboxes was restarted, and has lost their network rules. */
	void (*on_again)(void *context);
	void *context;
};

struct provider_created {
	bool disk_is_advisory;
	bool continues; /* from saved memory: its processes run already */
	struct sandbox_resources effective;
	int64_t took_us;
};

struct provider_stats {
	int64_t sampled_unix_ms;
	int64_t uptime_ms;
	uint64_t cpu_usage_us; /* since the start */
	uint64_t memory_bytes;
	uint64_t memory_limit_bytes;
	uint64_t disk_bytes; /* of the files on top of the template; UINT64_MAX = not known */
	uint64_t disk_limit_bytes;
	uint64_t pids;
	uint64_t pids_limit;
	uint64_t network_in_bytes;
	uint64_t network_out_bytes;
	uint64_t oom_kills;
};

/* A probe is a sandbox that the provider makes and ends at once. */
struct provider_probe {
	enum sandbox_network network;
	const char *egress; /* as in sandbox_spec; NULL = no rules */
};

enum provider_measured_kind {
	PROVIDER_MEASURE_SANDBOX,  /* its own files, without the layers below */
	PROVIDER_MEASURE_SNAPSHOT, /* its layer, without the layers below */
	PROVIDER_MEASURE_VOLUME,
};

struct provider_ops {
	const char *name;
	const char *isolation; /* label for users: "namespaces", "none" … */
	unsigned abilities;
	bool is_for_calls;     /* its sandboxes are of ephemeral calls only: nothing outlives one */
	bool keeps_workspaces; /* in place of volumes; see sandbox_spec.workspace */
	/* Providers of one place ("broker") see the same sandboxes and files; NULL: of none. */
	const char *place;
	const char *templates; /* the folder of their descriptions; NULL: "templates" */
	bool is_shared;        /* every server on the store may work on its sandboxes: shared.h */

	/* Changes `ret`, a copy of these operations, by the options. May be NULL. */
	void (*describe)(const struct provider_options *options, struct provider_ops *ret);
	int (*open)(const struct provider_options *options, struct provider **ret,
	            struct error *err);
	void (*close)(struct provider *p);
	/* Takes other options of its kind while it is open, or refuses and keeps its own. What
	 * `options` points to outlives the provider. NULL: they cannot change. */
	int (*change)(struct provider *p, const struct provider_options *options,
	              struct error *err);
	/* The server ends: calls wait for no broker any more, and fail. Calls in flight go on. May
	 * be NULL. */
	void (*last_calls)(struct provider *p);

	/* Makes and starts a sandbox. ERROR_CONFLICT when the id exists. */
	int (*create)(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
	              struct provider_created *ret, struct error *err);
	/* The two halves of create, for a caller with work to do in between. create_begin never
	 * waits: it returns NULL, and begins nothing, when it would have to. Each create_begin that
	 * succeeds needs one create_end; the spec must live until then. Both may be NULL. */
	struct provider_creation *(*create_begin)(struct provider *p,
	                                          const struct sandbox_spec *spec);
	int (*create_end)(struct provider *p, struct provider_creation *creation, int64_t deadline,
	                  struct provider_created *ret, struct error *err);
	/* Ends the sandbox and removes all its files. Succeeds when the sandbox does not exist.
	 * Returns when nothing inside runs any more; files may be removed later. */
	int (*destroy)(struct provider *p, const char *id, int64_t deadline, struct error *err);
	/* PROVIDER_CAN_STOP. Both succeed when the sandbox has the wanted state already. */
	int (*stop)(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
	            struct error *err);
	int (*start)(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
	             struct provider_created *ret, struct error *err);
	/* PROVIDER_CAN_PAUSE. Both return when the wanted state is reached, and succeed when it was
	 * reached before. stop and destroy end a paused sandbox, too. Requests to the agent of a
	 * paused sandbox wait. */
	int (*pause)(struct provider *p, const char *id, int64_t deadline, struct error *err);
	int (*resume)(struct provider *p, const char *id, int64_t deadline, struct error *err);
	/* PROVIDER_CAN_LIMIT. Changes cpu, memory and pids of a running or paused sandbox at once;
	 * its disk limit stays. ERROR_CONFLICT for less memory than it uses. */
	int (*limit)(struct provider *p, const char *id, const struct sandbox_resources *resources,
	             int64_t deadline, struct error *err);
	/* PROVIDER_CAN_FILTER. Replaces the rules, also for open connections, before it returns. */
	int (*filter)(struct provider *p, const char *id, const char *egress, int64_t deadline,
	              struct error *err);
	/* Lists what the provider has: for adoption and the orphan sweep. */
	int (*list)(struct provider *p, struct arena *a, struct provider_list *ret,
	            struct error *err);
	int (*stats)(struct provider *p, const char *id, struct provider_stats *ret,
	             struct error *err);
	/* PROVIDER_CAN_MEASURE. Disk bytes of this object alone; a lower bound of very many files.
	 * Takes seconds. ERROR_UNAVAILABLE while another object is measured. */
	int (*measure)(struct provider *p, enum provider_measured_kind kind, const char *id,
	               int64_t deadline, uint64_t *ret, struct error *err);
	int (*health)(struct provider *p, struct error *err);
	/* Makes such a sandbox and ends it. No list and no metric shows it. May be NULL. */
	int (*probe)(struct provider *p, const struct provider_probe *probe, int64_t deadline,
	             struct error *err);
	/* PROVIDER_CAN_TEMPLATE; see provider/templates.h, and call provider_template. */
	int (*template_make)(struct provider *p, const struct provider_template *request,
	                     int64_t deadline, struct error *err);
	/* Removes what it made from files of a template that are gone or changed. May be NULL. */
	void (*template_gone)(struct provider *p, const char *folder);
	const struct snapshot_ops *snapshots; /* PROVIDER_CAN_SNAPSHOT; see provider/snapshots.h */
	const struct memory_ops *memory;      /* PROVIDER_CAN_KEEP_MEMORY; see provider/memory.h */
	const struct volume_ops *volumes;     /* PROVIDER_CAN_VOLUME; see provider/volume.h */
	const struct pool_ops *pools;         /* PROVIDER_CAN_POOL; see provider/pool.h */
	const struct trash_ops *trash;        /* NULL: no trash; see provider/trash.h */
	const struct report_ops *reports;     /* NULL: none; see provider/reports.h */
	const struct compute_ops *compute;
};

/* null, host, native, docker, gvisor, microvm, e2b, daytona, kubernetes, lambda, NULL */
extern const struct provider_ops *const providers[];
const struct provider_ops *provider_find(const char *name);
const struct provider_ops *provider_ops_of(const struct provider *p);
MUST_CHECK int provider_require(const struct provider *p, enum provider_ability ability,
                                struct error *err);
