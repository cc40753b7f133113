/* SPDX-License-Identifier: Apache-2.0 */
/* calls/activity_feed.h — rows of activity as the API shows them, and as the source of a feed. */
#pragma once

#include <stdbool.h>

#include "calls/feed.h"
#include "json/json.h"

struct activity_record;

struct activity_answer {
	int64_t sequence, at, exit_code, duration_ms, output_bytes;
	const char *project, *sandbox, *kind, *operation, *arguments, *user, *key, *conversation,
	        *outcome, *error, *head, *tail, *encoding;
	bool ok;
	struct json_list artifacts;
};
extern const struct json_shape activity_shape;
/* Artifacts are in the arena. */
struct activity_answer activity_answer_of(struct arena *a, const struct activity_record *r);

extern const struct feed_source activity_feed_source;
