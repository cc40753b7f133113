/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/lsp_queue.h — a queue of the calls that start or end language servers: one call
 * of a sandbox at a time, so that two concurrent starts do not make two servers.
 *
 * A waiting call blocks its thread. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/list.h"

struct daytona_lsp_queue;
struct daytona_lsp_queue *daytona_lsp_queue_new(void);
void daytona_lsp_queue_free(struct daytona_lsp_queue *queue); /* NULL is fine */

/* The right to start or end servers of one sandbox. The caller keeps it on its stack. */
struct lsp_place {
	struct daytona_lsp_queue *queue; /* NULL: the place is not taken */
	struct list item;
	char sandbox[ID_SIZE + 1];
};

/* `ret` is zeroed. ERROR_TIMEOUT if another call holds the sandbox's place until the deadline. */
MUST_CHECK int lsp_place_take(struct daytona_lsp_queue *queue, const char *sandbox,
                              int64_t deadline, struct lsp_place *ret, struct error *err);
/* Does nothing for a zeroed place. */
void lsp_place_leave(struct lsp_place *place);
