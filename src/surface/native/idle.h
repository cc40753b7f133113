/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/idle.h — a template's idle times, as bodies say them. Private to this folder. */
#pragma once

#include "base/arena.h"
#include "json/json.h"
#include "sandbox/sandbox.h"

struct idle_body {
	int64_t pause_ms, stop_ms, reap_ms, lifetime_max_ms;
	uint64_t present;
};
extern const struct json_shape idle_body_shape;
/* What is not given is left as it is. */
struct sandbox_idle idle_body_parse(const struct idle_body *body);
/* {"pause_ms":…} */
struct span idle_text(struct arena *a, const struct sandbox_idle *idle);
