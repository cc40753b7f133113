/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/idempotency.h"

#include <sodium.h>
#include <string.h>

#include "http/server/http.h"

#define HEADER "Idempotency-Key"

_Static_assert(ONCE_HASH_SIZE == crypto_hash_sha256_BYTES, "a SHA-256");

bool idempotency_is_used(const struct request *rq, const char *key)
{
	return key || request_header(rq, HEADER);
}

int idempotency_begin(struct request *rq, const char *operation, const char *key,
                      struct idempotent_request *ret, struct error *err)
{
	const char *header = request_header(rq, HEADER);
	struct idempotent_request o = {.found = {.is_first = true}};

	if (header && key && strcmp(header, key) != 0)
		return FAIL(err, ERROR_INVALID,
		            HEADER " and idempotency_key contradict each other");
	o.once = (struct fleet_once){.project_id = api_project(rq),
	                             .operation = operation,
	                             .key = header ? header : key,
	                             .parks = api_can_park(rq),
	                             .awaited = api_awaited(rq)};
	if (o.once.key) {
		crypto_hash_sha256(o.once.hash, (const unsigned char *)rq->body.data,
		                   rq->body.size);
		if (fleet_once_begin(api_of(rq)->fleet, rq->arena, &o.once, &o.found, err) < 0)
			return -1;
	}
	*ret = o;
	return 0;
}

void idempotency_end(struct request *rq, const struct idempotent_request *o,
                     const struct fleet_once_result *result)
{
	struct fleet *fleet = api_of(rq)->fleet;

	if (!o->once.key || !o->found.is_first)
		return;
	if (result)
		fleet_once_done(fleet, &o->once, &o->found, result);
	else
		fleet_once_failed(fleet, &o->once, &o->found);
}
