/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/pending.h — pending sandboxes: their images are being built. Clients know their
 * ids and poll them.
 *
 * The newest are kept in memory for some hours. A restart of the server loses them together with
 * the builds. The first request for a sandbox after its build makes it. Functions may be called on
 * any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define DAYTONA_PENDING_MAX 256
#define DAYTONA_PENDING_OF_PROJECT 32
#define DAYTONA_PENDING_KEPT_MS (6 * 3600 * INT64_C(1000))
#define DAYTONA_PENDING_BODY_MAX ((size_t)128 * 1024)

struct daytona_pending_sandbox {
	const char *id;
	const char *project_id;
	const char *key_id;
	const char *build_id;
	const char *template;
	struct span body; /* of the create request */
	int64_t made_at;  /* unix ms */
	bool is_being_made;
};

struct daytona_pending;
struct daytona_pending *daytona_pending_new(void);
void daytona_pending_free(struct daytona_pending *p); /* NULL is fine */

/* Copies the sandbox. A full table loses its oldest entry; a project with too many entries loses
 * its own oldest. */
void daytona_pending_put(struct daytona_pending *p, const struct daytona_pending_sandbox *sandbox);
/* Copies the entry into the arena. Returns false if the project has no such entry any more. */
bool daytona_pending_find(struct daytona_pending *p, struct arena *a, const char *project_id,
                          const char *id, struct daytona_pending_sandbox *ret);
/* Returns true to one caller only, which then makes the sandbox. */
bool daytona_pending_claim(struct daytona_pending *p, const char *id);
/* Gives the claim back after a failure that may pass: the next request makes the sandbox. */
void daytona_pending_put_back(struct daytona_pending *p, const char *id);
/* Does nothing if there is no such entry. */
void daytona_pending_drop(struct daytona_pending *p, const char *id);
