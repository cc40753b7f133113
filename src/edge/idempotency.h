/* SPDX-License-Identifier: Apache-2.0 */
/* edge/idempotency.h — the header Idempotency-Key, for operations that make a sandbox. */
#pragma once

#include "edge/api.h"
#include "fleet/lease/once.h"

struct idempotent_request {
	struct fleet_once once; /* key NULL: the request has no key, and every call does nothing */
	/* is_first is true for a request without a key. id: what the first request made. */
	struct fleet_once_found found;
};
/* `operation` names the kind of operation; `key` is the body's idempotency_key, or NULL. A repeated
 * request gets the header Idempotent-Replayed. */
MUST_CHECK int idempotency_begin(struct request *rq, const char *operation, const char *key,
                                 struct idempotent_request *ret, struct error *err);
/* Whether the request has a key: in its header, or `key`, from its body. */
bool idempotency_is_used(const struct request *rq, const char *key);
/* Records the result of the first request; NULL: it failed. */
void idempotency_end(struct request *rq, const struct idempotent_request *o,
                     const struct fleet_once_result *result);
