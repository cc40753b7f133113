/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/launch.h"
#include "wire/task.h"

#include <assert.h>

size_t launch_request_size(enum launch_kind kind)
{
	static const size_t sizes[LAUNCH_KIND_COUNT] = {
	        [LAUNCH_MOUNT] = sizeof(struct launch_mount),
	        [LAUNCH_SHARED] = sizeof(struct launch_shared),
	        [LAUNCH_ID_MAP] = sizeof(struct launch_id_map),
	        [LAUNCH_AGENT] = sizeof(struct launch_agent),
	        [LAUNCH_HOSTNAME] = sizeof(struct launch_hostname),
	        [LAUNCH_TASK] = sizeof(struct launch_task),
	        [LAUNCH_PROCESS] = sizeof(struct launch_process),
	        [LAUNCH_IMAGE] = sizeof(struct launch_image),
	        [LAUNCH_QUOTA] = sizeof(struct launch_quota),
	        [LAUNCH_READ_ONLY] = sizeof(struct launch_read_only),
	        [LAUNCH_REPLACE] = sizeof(struct launch_replace),
	        [LAUNCH_ATTACH] = sizeof(struct launch_attach),
	        [LAUNCH_DETACH] = sizeof(struct launch_attach),
	};

	assert(kind < LAUNCH_KIND_COUNT);
	return sizes[kind];
}
