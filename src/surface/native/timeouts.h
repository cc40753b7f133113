/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/timeouts.h — the timeouts of sandbox/timeouts.h in bodies and answers. */
#pragma once

#include "json/json.h"
#include "sandbox/timeouts.h"

#define TIMEOUT_MAX_MS ((int64_t)365 * 24 * 3600 * 1000)
/* The lower bound of a timeout, and what a description adds. */
#define TIMEOUT_MIN_SWITCHABLE -1
#define TIMEOUT_MIN_FIXED 0
#define TIMEOUT_OFF_SWITCHABLE "; -1: never"
#define TIMEOUT_OFF_FIXED ""
#define TIMEOUT_ROW_(offset_, off, name_, max_, about_)                                            \
	{                                                                                          \
		.kind = JSON_WHOLE, .name = (name_), .offset = (offset_),                          \
		.min = TIMEOUT_MIN_##off, .max = (max_), .about = about_                           \
	}

/* Rows of a create request, for SANDBOX_INHERITED_TIMEOUTS and SANDBOX_OWN_TIMEOUTS. The further
 * argument is the struct, whose member `timeouts` is a struct sandbox_timeouts. */
#define TIMEOUT_CREATE_INHERITED(stem, off, api, short_, option, about, s)                         \
	TIMEOUT_ROW_(offsetof(struct s, timeouts.stem##_ms), off, api, TIMEOUT_MAX_MS,             \
	             about "; 0: the server's setting" TIMEOUT_OFF_##off)
#define TIMEOUT_CREATE_OWN(stem, off, api, short_, option, about, s)                               \
	TIMEOUT_ROW_(offsetof(struct s, timeouts.stem##_ms), off, api, TIMEOUT_MAX_MS,             \
	             about "; 0: never")
/* A row of an answer. */
#define TIMEOUT_ANSWER(stem, off, api, short_, option, about, s)                                   \
	TIMEOUT_ROW_(offsetof(struct s, timeouts.stem##_ms), FIXED, api, 0, about "; 0: never")

/* The idle times of a template. */
struct idle_body {
	struct sandbox_timeouts timeouts;
	uint64_t present;
};
extern const struct json_shape idle_body_shape;
/* Members that were not given become SANDBOX_TIMEOUT_LEAVE. */
struct sandbox_timeouts idle_body_parse(const struct idle_body *body);
/* As JSON: {"pause_ms":…} */
struct span idle_times_format(struct arena *a, const struct sandbox_timeouts *timeouts);
