/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/timeouts.h"

#include "surface/native/native.h"

#define ROW(stem, off, api, short_, option, about, ...)                                            \
	TIMEOUT_ROW_(offsetof(struct idle_body, timeouts.stem##_ms), off, short_, TIMEOUT_MAX_MS,  \
	             about "; 0: the setting of the project or server" TIMEOUT_OFF_##off)
/* In the order of enum sandbox_timeout. */
static const struct json_member idle_body_shape_members[] = {
        SANDBOX_INHERITED_TIMEOUTS(ROW),
};
JSON_BITS_SHAPE(idle_body_shape, "IdleTimes", idle_body,
                "Idle times of sandboxes; omitted members keep their values");

struct sandbox_timeouts idle_body_parse(const struct idle_body *body)
{
	struct sandbox_timeouts timeouts = SANDBOX_TIMEOUTS_LEAVE;

	for (unsigned i = 0; i < SANDBOX_TIMEOUTS_INHERITED; i++)
		if (row_is_given(body->present, i))
			sandbox_timeout_set(&timeouts, i, sandbox_timeout_get(&body->timeouts, i));
	return timeouts;
}

struct span idle_times_format(struct arena *a, const struct sandbox_timeouts *timeouts)
{
	const struct idle_body body = {.timeouts = *timeouts};
	AUTO(buf_done) struct buf text = BUF(SIZE_MAX / 2);

	json_write(&text, &idle_body_shape, &body);
	return span_of(arena_copy(a, buf_span(&text)));
}
