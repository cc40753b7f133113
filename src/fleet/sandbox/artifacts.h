/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/artifacts.h — files of sandboxes that outlive them. The agent reads them, the blob
 * store keeps them, and clients with a signed address fetch them. The rules of fleet.h apply. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct artifact_list;
struct artifact_record;
struct error;
struct fleet;
struct fleet_hold;
struct fleet_ref;
struct sandbox_record;

#define FLEET_ARTIFACTS_MAX 100000 /* of a project */
#define FLEET_ARTIFACT_SIGNATURE_SIZE 64

struct fleet_artifact_keep {
	const struct sandbox_record *sandbox;
	const struct fleet_hold *hold; /* of that sandbox */
	const char *project_id, *key_id;
	const char *run;  /* NULL: none */
	const char *job;  /* job that wrote the file; NULL: none */
	const char *root; /* the path must not leave it; NULL: "/" */
	const char *path;
	const char *user; /* user of the sandbox that reads the file */
	int64_t process;  /* process that wrote the file; 0 = none */
	int64_t keep_ms;  /* 0 = the setting of the project */
	int64_t deadline;
};
/* Returns when the bytes are stored; if it fails nothing is left. Takes regular files only;
 * ERROR_CONFLICT if the file grows meanwhile. */
MUST_CHECK int fleet_artifact_keep(struct fleet *fleet, struct arena *a,
                                   const struct fleet_artifact_keep *request,
                                   struct artifact_record *ret, struct error *err);
/* Keeps the regular files below `folder` (below keep.root) that have changed since `since`: files
 * of a command, before its end is reported. A file that cannot be kept is skipped, and the log says
 * why; the result of the command is not affected. Fails if another try might keep more, because the
 * sandbox did not answer. Files that are kept for the same job already are skipped. */
#define FLEET_ARTIFACTS_MADE_MAX 32
#define FLEET_ARTIFACTS_DEPTH 16
#define FLEET_ARTIFACTS_LAG_MS 10 /* the kernel's clock for files may be so far behind */
struct fleet_artifacts_made {
	struct fleet_artifact_keep keep; /* for each file; root is set, path is not */
	const char *folder;              /* relative; "." = the root */
	int64_t since;                   /* unix ms */
};
MUST_CHECK int fleet_artifacts_keep_made(struct fleet *fleet, struct arena *a,
                                         const struct fleet_artifacts_made *made,
                                         struct artifact_list *ret, struct error *err);
/* Removes the artifact that ref->id names, and its bytes. */
MUST_CHECK int fleet_artifact_remove(struct fleet *fleet, struct arena *a,
                                     const struct fleet_ref *ref, struct error *err);
/* Opens a pipe that delivers the bytes. A range beyond the end is shortened. */
MUST_CHECK int fleet_artifact_open(struct fleet *fleet, const struct artifact_record *r,
                                   int64_t offset, int64_t size, int *ret_fd, struct error *err);

/* The path on this server, with signature, at which a client without a key fetches the bytes. */
const char *fleet_artifact_address(struct arena *a, const struct artifact_record *r,
                                   int64_t expires_at);
bool fleet_artifact_is_signed(const struct artifact_record *r, int64_t expires_at,
                              const char *signature);

/* The deadline for the agent's first answer: a pause that does not wait for calls may freeze it. */
int64_t artifacts_patience(int64_t deadline);
/* Removes the row, and the bytes if they are this server's. */
MUST_CHECK int artifact_retire(struct fleet *f, const struct artifact_record *r, struct error *err);
/* Removes artifacts that have expired or are incomplete. At boot no thread makes any. */
MUST_CHECK int artifacts_purge(struct fleet *f, bool at_boot, struct error *err);
/* Writes artifacts into the usage log, once an hour. */
MUST_CHECK int artifacts_meter(struct fleet *f, struct error *err);
/* Removes all artifacts of a project. */
MUST_CHECK int artifacts_end(struct fleet *f, const char *project_id, struct error *err);
