/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/idle.h"

#include <inttypes.h>

#include "surface/native/answer.h"

#define IDLE_MAX_MS ((int64_t)365 * 24 * 3600 * 1000)

/* In the order of enum sandbox_idle_time. */
static const struct json_member idle_body_members[] = {
        JSON_WHOLE_MEMBER(idle_body, pause_ms, .min = -1, .max = IDLE_MAX_MS,
                          .about = "idle time after which a sandbox is paused; -1: never, 0: the "
                                   "setting of the project or server"),
        JSON_WHOLE_MEMBER(idle_body, stop_ms, .min = -1, .max = IDLE_MAX_MS,
                          .about = "idle time after which a sandbox is stopped; -1: never, 0: the "
                                   "setting of the project or server"),
        JSON_WHOLE_MEMBER(idle_body, reap_ms, .min = 0, .max = IDLE_MAX_MS,
                          .about = "idle time after which an ephemeral sandbox is deleted"),
        JSON_WHOLE_MEMBER(idle_body, lifetime_max_ms, .min = 0, .max = IDLE_MAX_MS,
                          .about = "an ephemeral sandbox is deleted at this age; a persistent one "
                                   "is stopped this long after its last start"),
        JSON_END,
};
const struct json_shape idle_body_shape = {
        .name = "IdleTimes",
        .about = "Idle times of sandboxes; omitted members keep their values",
        .size = sizeof(struct idle_body),
        .members = idle_body_members,
        .present_offset = offsetof(struct idle_body, present),
};

struct sandbox_idle idle_body_parse(const struct idle_body *body)
{
	struct sandbox_idle idle = {
	        {body->pause_ms, body->stop_ms, body->reap_ms, body->lifetime_max_ms}};

	for (unsigned i = 0; i < SANDBOX_IDLE_COUNT; i++)
		if (!row_is_given(body->present, i))
			idle.ms[i] = SANDBOX_IDLE_LEAVE;
	return idle;
}

struct span idle_times_format(struct arena *a, const struct sandbox_idle *idle)
{
	return span_of(arena_format(a,
	                            "{\"pause_ms\":%" PRId64 ",\"stop_ms\":%" PRId64
	                            ",\"reap_ms\":%" PRId64 ",\"lifetime_max_ms\":%" PRId64 "}",
	                            idle->ms[SANDBOX_IDLE_PAUSE], idle->ms[SANDBOX_IDLE_STOP],
	                            idle->ms[SANDBOX_IDLE_REAP], idle->ms[SANDBOX_IDLE_LIFETIME]));
}
