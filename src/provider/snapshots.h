/* SPDX-License-Identifier: Apache-2.0 */
/* provider/snapshots.h — snapshots of a provider with PROVIDER_CAN_SNAPSHOT. The rules of
 * provider.h apply. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct provider;
struct provider_list;

/* A sandbox with sandbox_spec.review has the trees of wire/agent_files.h here. */
#define PROVIDER_REVIEW_PATH "/review"

struct provider_snapshot {
	const char *sandbox;
	const char *snapshot; /* id of the new snapshot; the caller chooses it */
	bool sync;            /* return when the files are on the disk */
	bool memory;          /* with the memory of processes; needs PROVIDER_CAN_KEEP_MEMORY */
};
struct provider_snapshot_made {
	int64_t frozen_us; /* how long the processes were frozen; 0: there were none */
	unsigned depth;    /* layers on top of the template */
	char method[16];   /* "rename", "switch" or "copy"; "memory": a copy with the memory */
	char because[256]; /* of a copy: why no quicker method was possible */
};

enum provider_backup_verb {
	PROVIDER_BACKUP_EXPORT,
	PROVIDER_BACKUP_LOAD,   /* makes the snapshot */
	PROVIDER_BACKUP_VERIFY, /* changes nothing */
};
/* Writes a snapshot to one file, or reads it from one. */
struct provider_backup {
	enum provider_backup_verb verb;
	const char *snapshot;        /* LOAD: id of the new snapshot; "" for VERIFY */
	const char *template_folder; /* "" = the template of the archive */
	int64_t size_max;            /* bytes of all files */
	bool full;                   /* EXPORT: includes the template, which must not be "host" */
	int archive_fd;              /* EXPORT writes it, the others read it; the caller's */
	/* A file. EXPORT reads a JSON object for the manifest from it. Afterwards it holds the
	 * result: sha256, size, entries, bytes, template_digest, manifest. */
	int document_fd;
	void (*on_progress)(void *context, int percent, const char *text); /* or NULL */
	bool (*is_given_up)(void *context); /* asked about once a second; NULL: never */
	void *context;
};

/* sandbox_spec.snapshot makes a sandbox from a snapshot. */
struct snapshot_ops {
	/* Of a stopped sandbox, or of one that runs and continues. */
	int (*take)(struct provider *p, const struct provider_snapshot *request, int64_t deadline,
	            struct provider_snapshot_made *ret, struct error *err);
	/* Gives a stopped sandbox the files of the snapshot; "": those of its template. The
	 * snapshot may be removed already, as long as the sandbox still uses its layers. */
	int (*restore)(struct provider *p, const char *sandbox, const char *snapshot,
	               int64_t deadline, struct error *err);
	/* Checks whether restore would succeed on the stopped sandbox; changes nothing. */
	int (*can_restore)(struct provider *p, const char *sandbox, const char *snapshot,
	                   int64_t deadline, struct error *err);
	/* Succeeds when there is none. Sandboxes that use its layers keep them. */
	int (*remove)(struct provider *p, const char *snapshot, int64_t deadline,
	              struct error *err);
	/* All snapshots; `running` has no meaning. */
	int (*list)(struct provider *p, struct arena *a, struct provider_list *ret,
	            struct error *err);
	/* Checks whether the host can keep the memory of processes; ERROR_UNSUPPORTED names what is
	 * missing. */
	int (*memory)(struct provider *p, int64_t deadline, struct error *err);
	/* When the deadline passes the work is ended, and nothing is left of a LOAD. */
	int (*backup)(struct provider *p, const struct provider_backup *request, int64_t deadline,
	              struct error *err);
};
