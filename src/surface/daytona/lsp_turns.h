/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/lsp_turns.h — who starts or ends language servers of a sandbox: one call at a
 * time, so that two which want the same find one. Private to this folder. The calls wait on their
 * threads. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/list.h"

struct daytona_lsp_turns; /* made and freed as tables.h says */

/* Lives on the stack of who has it. */
struct lsp_turn {
	struct daytona_lsp_turns *turns; /* NULL: it is not had */
	struct list item;
	char sandbox[ID_SIZE + 1];
};
/* Into a zeroed one. ERROR_TIMEOUT when others are at it until the deadline. */
MUST_CHECK int lsp_turn_take(struct daytona_lsp_turns *turns, const char *sandbox, int64_t deadline,
                             struct lsp_turn *ret, struct error *err);
void lsp_turn_end(struct lsp_turn *turn); /* zeroed is fine */
