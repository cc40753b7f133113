/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/artifacts.h — files of sandboxes that outlive them: read by the agent, kept in the blob
 * store, fetched by whoever has a signed address. Part of the fleet: the rules of fleet.h hold. */
#pragma once

#include "fleet/fleet.h"
#include "store/artifacts.h"

#define FLEET_ARTIFACTS_MAX 100000 /* of a project */
#define FLEET_ARTIFACT_SIGNATURE_SIZE 64

struct fleet_artifact_keep {
	const struct sandbox_record *sandbox;
	const struct fleet_hold *hold;         /* of it */
	const char *project_id, *key_id, *run; /* run NULL = none */
	const char *job;                       /* that made it; NULL = none */
	const char *root; /* the path is below it and may not leave it; NULL = "/" */
	const char *path;
	const char *user; /* who reads it */
	int64_t process;  /* that made it; 0 = none */
	int64_t keep_ms;  /* 0 = as the project has it */
	int64_t deadline;
};
/* Returns when its bytes are stored, or when nothing of it is left. A regular file; one that grows
 * meanwhile is ERROR_CONFLICT. */
MUST_CHECK int fleet_artifact_keep(struct fleet *fleet, struct arena *a,
                                   const struct fleet_artifact_keep *request,
                                   struct artifact_record *ret, struct error *err);
/* The regular files below `folder`, itself below keep.root, that have changed since `since`: of a
 * command, before its end is told. What cannot be kept is left out, and the log says why: the
 * command's own result stands. Fails when another try might keep more: the sandbox could not be
 * asked. What was kept for the same job already is left alone. */
#define FLEET_ARTIFACTS_MADE_MAX 32
#define FLEET_ARTIFACTS_DEPTH 16
#define FLEET_ARTIFACTS_LAG_MS 10 /* that the kernel's clock for files may be behind ours */
struct fleet_artifacts_made {
	struct fleet_artifact_keep keep; /* of each; its root is set, its path is not */
	const char *folder;              /* relative; "." = the root */
	int64_t since;                   /* unix ms */
};
MUST_CHECK int fleet_artifacts_keep_made(struct fleet *fleet, struct arena *a,
                                         const struct fleet_artifacts_made *made,
                                         struct artifact_list *ret, struct error *err);
/* What ref->id names, and its bytes. */
MUST_CHECK int fleet_artifact_remove(struct fleet *fleet, struct arena *a,
                                     const struct fleet_ref *ref, struct error *err);
/* A pipe that its bytes come from. The range is cut at its end. */
MUST_CHECK int fleet_artifact_open(struct fleet *fleet, const struct artifact_record *r,
                                   int64_t offset, int64_t size, int *ret_fd, struct error *err);

/* Who has this may fetch it until then (unix seconds), without a key. Hex. */
void fleet_artifact_sign(const struct artifact_record *r, int64_t expires_at,
                         char ret[FLEET_ARTIFACT_SIGNATURE_SIZE + 1]);
/* A path on this server that gives its bytes to whoever has it. */
const char *fleet_artifact_address(struct arena *a, const struct artifact_record *r,
                                   int64_t expires_at);
bool fleet_artifact_is_signed(const struct artifact_record *r, int64_t expires_at,
                              const char *signature);

/* ---- within this folder ---- */

/* Until when the agent is waited for: it may be frozen, by a pause that waits for nobody. */
int64_t artifacts_patience(int64_t deadline);
/* Removes what has expired or was left half done. At boot nobody makes any. */
MUST_CHECK int artifacts_purge(struct fleet *f, bool at_boot, struct error *err);
/* All of a project. */
MUST_CHECK int artifacts_end(struct fleet *f, const char *project_id, struct error *err);
/* Into the usage log, once an hour. */
MUST_CHECK int artifacts_meter(struct fleet *f, struct error *err);
