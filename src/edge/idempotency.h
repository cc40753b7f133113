/* SPDX-License-Identifier: Apache-2.0 */
/* api/once.h — the header Idempotency-Key, for operations that make a sandbox. Private to this
 * folder. */
#pragma once

#include "edge/caller.h"
#include "fleet/once.h"

struct idempotent_request {
	struct fleet_once once;        /* key NULL: the request has none, and nothing is done */
	struct fleet_once_found found; /* is_first without a key, with id NULL */
};
/* `operation`: which kind; `key`: from the body, or NULL. A repeated request is answered with the
 * header Idempotent-Replayed. */
MUST_CHECK int idempotency_begin(struct request *rq, const char *operation, const char *key,
                                 struct idempotent_request *ret, struct error *err);
/* Whether the request brings a key, in its header or, `key`, in its body. */
bool idempotency_is_used(const struct request *rq, const char *key);
/* After the first one; result NULL: it failed. */
void idempotency_end(struct request *rq, const struct idempotent_request *o,
                     const struct fleet_once_result *result);
