/* SPDX-License-Identifier: Apache-2.0 */
/* The server that has a sandbox is gone: this one, or a third one, takes its sandboxes over. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "edge/forward.h"
#include "fleet/core/takeover.h"
#include "http/server/http.h"
#include "http/server/parked.h"

/* A call that is repeated for so long finds no server that takes what it is for. */
#define TAKEN_WITHIN_MS 3000
#define REPEAT_MS 50

bool api_says_gone(const struct error *why)
{
	return why->code == ERROR_TIMEOUT || why->sys_errno == ECONNREFUSED ||
	       why->sys_errno == EHOSTUNREACH || why->sys_errno == ENETUNREACH ||
	       why->sys_errno == ETIMEDOUT;
}

int api_repeat_when_taken(const struct request *rq, const char *node, struct error *err)
{
	struct fleet *fleet = api_of(rq)->fleet;
	struct request_awaited awaited = request_awaited(rq);
	struct error failure = {0};
	char key[ERROR_AWAITS_MAX];
	bool is_repeated;
	int count;

	(void)snprintf(key, sizeof(key), "node:%s", node);
	is_repeated = awaited.key && strcmp(awaited.key, key) == 0;
	if (!fleet_has_shared_provider(fleet))
		return -1;
	count = fleet_take_over(fleet, rq->arena, node, &failure);
	if (count < 0) {
		log_warning("sandboxes of a server that is gone were not taken over",
		            FAILURE(&failure));
		return -1;
	}
	if (count > 0 || !is_repeated || awaited.for_ms < TAKEN_WITHIN_MS)
		error_await(err, key, count > 0 ? 1 : REPEAT_MS, -1);
	return -1;
}
