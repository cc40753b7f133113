/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/pending.h — sandboxes that wait for their image to be built: a client has been
 * told their ids, and asks for them until they are there. Private to this folder.
 *
 * Kept in memory for some hours, the newest of them; with a restart of this server they are gone,
 * and so are the builds. Whoever asks when the build is done has the sandbox made. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/span.h"

#define DAYTONA_PENDING_MAX 256
#define DAYTONA_PENDING_OF_PROJECT 32
#define DAYTONA_PENDING_KEPT_MS (6 * 3600 * INT64_C(1000))
#define DAYTONA_PENDING_BODY_MAX ((size_t)128 * 1024)

struct daytona_pending_sandbox {
	const char *id, *project_id, *key_id;
	const char *build_id, *template;
	struct span body; /* of the request */
	int64_t made_at;  /* unix ms */
	bool is_being_made;
};

struct daytona_pending;
struct daytona_pending *daytona_pending_new(void);
void daytona_pending_free(struct daytona_pending *p); /* NULL is fine */
/* In place of the project's oldest when it has too many, else of the oldest. All is copied. */
void daytona_pending_put(struct daytona_pending *p, const struct daytona_pending_sandbox *wait);
/* Copied into the arena; false when there is none of that project, or not any more. */
bool daytona_pending_find(struct daytona_pending *p, struct arena *a, const char *project_id,
                          const char *id, struct daytona_pending_sandbox *ret);
/* True for the one who is to make it, once. */
bool daytona_pending_claim(struct daytona_pending *p, const char *id);
/* It could not be made for now: the next who asks is to. */
void daytona_pending_put_back(struct daytona_pending *p, const char *id);
/* Fine when there is none. */
void daytona_pending_drop(struct daytona_pending *p, const char *id);
