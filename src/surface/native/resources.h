/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/resources.h — limits of a sandbox in requests and answers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "json/json.h"

struct resources_body {
	double cpu;
	int64_t memory_mb, disk_mb, pids;
	bool disk_advisory; /* answers only */
};
extern const struct json_shape resources_request, resources_answer;
