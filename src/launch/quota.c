/* SPDX-License-Identifier: Apache-2.0 */
/* LAUNCH_QUOTA and LAUNCH_ID_MAP. */
#include "isolation/ids.h"
#include "isolation/project_quota.h"
#include "launch/server.h"

int serve_quota(UNUSED struct launch_server *l, const struct launch_call *call,
                UNUSED struct launch_reply *ret, struct error *err)
{
	const struct launch_quota *request = call->request;
	const struct project_amount most = {request->bytes, request->inodes};

	switch ((enum launch_quota_verb)request->verb) {
	case LAUNCH_QUOTA_PROBE:
		return project_quota_probe(call->fds[0], err);
	case LAUNCH_QUOTA_BEGIN:
		return project_quota_begin(call->fds[0], err);
	case LAUNCH_QUOTA_LIMIT:
		return project_quota_limit(call->fds[0], &most, err);
	case LAUNCH_QUOTA_COUNT:
		break;
	}
	return FAIL(err, ERROR_INVALID, "unknown request %u about a quota", request->verb);
}

int serve_id_map(UNUSED struct launch_server *l, const struct launch_call *call,
                 struct launch_reply *ret, struct error *err)
{
	const struct launch_id_map *request = call->request;
	int fd;

	if (request->slot >= SLOTS_MAX)
		return FAIL(err, ERROR_INVALID, "slot %u is unknown", request->slot);
	if (id_map_open(request->slot, &fd, err) < 0)
		return -1;
	launch_reply_add(ret, fd);
	return 0;
}
