/* SPDX-License-Identifier: Apache-2.0 */
/* provider/snapshots.h — what a provider with PROVIDER_CAN_SNAPSHOT does. Part of the contract: the
 * rules of provider.h hold. */
#pragma once

#include "provider/provider.h"

struct provider_snapshot {
	const char *sandbox, *snapshot; /* the id of the new one is the caller's choice */
	bool sync;                      /* return when it has come to the disk */
};
struct provider_snapshot_made {
	int64_t frozen_us; /* how long its processes stood still; 0: it had none */
	unsigned depth;    /* layers on top of the template */
	char method[16];   /* "rename", "switch" or "copy" */
	char because[256]; /* of a copy: what was in the way of something quicker */
};

/* A snapshot to one file, or from it. */
struct provider_backup {
	enum broker_backup_verb verb;
	const char *snapshot;        /* of LOAD the new one's id; "" for VERIFY */
	const char *template_folder; /* "" = on whatever it was made */
	int64_t size_max;            /* bytes of all files */
	bool full;                   /* EXPORT: with the template; not "host" */
	int archive_fd;              /* written by EXPORT, read by the others; the caller's */
	/* A file: for EXPORT a JSON object that the manifest is to hold; afterwards what was found:
	 * sha256, size, entries, bytes, template_digest, manifest. */
	int document_fd;
	void (*on_progress)(void *context, int percent, const char *text); /* or NULL */
	/* Asked every second or so: true ends the work. NULL: never. */
	bool (*is_given_up)(void *context);
	void *context;
};

/* A sandbox is made of a snapshot by sandbox_spec.snapshot. */
struct snapshot_ops {
	/* Of a sandbox that runs, and goes on, or is stopped. */
	int (*take)(struct provider *p, const struct provider_snapshot *request, int64_t deadline,
	            struct provider_snapshot_made *ret, struct error *err);
	/* The files of a stopped sandbox become those of the snapshot; "": of its template. Of
	 * a snapshot that is removed by now, as long as the sandbox lies on it. */
	int (*restore)(struct provider *p, const char *sandbox, const char *snapshot,
	               int64_t deadline, struct error *err);
	/* Whether that could be done were it stopped; changes nothing. */
	int (*can_restore)(struct provider *p, const char *sandbox, const char *snapshot,
	                   int64_t deadline, struct error *err);
	/* Fine when there is none. What still lies on it goes on. */
	int (*remove)(struct provider *p, const char *snapshot, int64_t deadline,
	              struct error *err);
	/* All there are; `running` means nothing. */
	int (*list)(struct provider *p, struct arena *a, struct provider_list *ret,
	            struct error *err);
	/* Whether the memory of processes could be kept here; ERROR_UNSUPPORTED says what is
	 * missing. */
	int (*memory)(struct provider *p, int64_t deadline, struct error *err);
	/* When the deadline passes, the work is ended, and nothing is left of a LOAD. */
	int (*backup)(struct provider *p, const struct provider_backup *request, int64_t deadline,
	              struct error *err);
};
