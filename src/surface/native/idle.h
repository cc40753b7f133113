/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/idle.h — idle times of a template in bodies and answers. */
#pragma once

#include "base/arena.h"
#include "json/json.h"
#include "sandbox/sandbox.h"

struct idle_body {
	int64_t pause_ms, stop_ms, reap_ms, lifetime_max_ms;
	uint64_t present;
};
extern const struct json_shape idle_body_shape;
/* Members that were not given become SANDBOX_IDLE_LEAVE. */
struct sandbox_idle idle_body_parse(const struct idle_body *body);
/* As JSON: {"pause_ms":…} */
struct span idle_times_format(struct arena *a, const struct sandbox_idle *idle);
