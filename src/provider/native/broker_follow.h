/* SPDX-License-Identifier: Apache-2.0 */
/* provider/native/broker_follow.h — calls to the broker that report progress lines
 * (provider/template_progress.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct provider;
struct wire_member;

/* broker_provider_follow runs the call to its end; the error is the one that the lines report.
 * `fds` are sent after the pipe of the lines. */
struct broker_followed {
	uint16_t type;
	const struct wire_member *shape;
	void *message;
	const int *fds; /* the caller's */
	unsigned fd_count;
	void (*on_progress)(void *context, int percent, const char *text); /* or NULL */
	void (*on_size)(void *context,
	                int64_t bytes);     /* the result has grown to this size; or NULL */
	bool (*is_given_up)(void *context); /* asked about once a second; NULL: never */
	void *context;
	int64_t deadline;
};
MUST_CHECK int broker_provider_follow(struct provider *p, const struct broker_followed *f,
                                      struct error *err);
