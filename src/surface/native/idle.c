/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/idle.h"

#include <inttypes.h>

#include "surface/native/answer.h"

#define IDLE_MAX_MS ((int64_t)365 * 24 * 3600 * 1000)

/* In the order of enum sandbox_idle_time. */
static const struct json_member idle_body_members[] = {
        JSON_WHOLE_MEMBER(idle_body, pause_ms, .min = -1, .max = IDLE_MAX_MS,
                          .about = "paused after so long without use; -1 = never, 0 = as the "
                                   "project or the server says"),
        JSON_WHOLE_MEMBER(idle_body, stop_ms, .min = -1, .max = IDLE_MAX_MS,
                          .about = "stopped after so long without use; the same"),
        JSON_WHOLE_MEMBER(idle_body, reap_ms, .min = 0, .max = IDLE_MAX_MS,
                          .about = "ephemeral ones are deleted after so long without use"),
        JSON_WHOLE_MEMBER(
                idle_body, lifetime_max_ms, .min = 0, .max = IDLE_MAX_MS,
                .about = "ephemeral ones are deleted at this age, persistent ones stopped so "
                         "long after their last start"),
        JSON_END,
};
const struct json_shape idle_body_shape = {
        .name = "IdleTimes",
        .about = "What becomes of sandboxes that nobody uses; what is left out stays",
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

struct span idle_text(struct arena *a, const struct sandbox_idle *idle)
{
	return span_of(arena_format(a,
	                            "{\"pause_ms\":%" PRId64 ",\"stop_ms\":%" PRId64
	                            ",\"reap_ms\":%" PRId64 ",\"lifetime_max_ms\":%" PRId64 "}",
	                            idle->ms[SANDBOX_IDLE_PAUSE], idle->ms[SANDBOX_IDLE_STOP],
	                            idle->ms[SANDBOX_IDLE_REAP], idle->ms[SANDBOX_IDLE_LIFETIME]));
}
