/* SPDX-License-Identifier: Apache-2.0 */
/* edge/activity.h — begins the record of a request's call into a sandbox (activity/activity.h). */
#pragma once

#include "activity/activity.h"
#include "edge/target.h"

struct request;

struct api_activity_call {
	enum activity_kind kind;
	const char *operation;    /* lives for ever */
	const char *conversation; /* NULL = the header Atoll-Conversation */
	int64_t at;               /* 0 = now */
};
/* NULL without a log, and for the browser of a volume. */
struct activity_note *api_activity_begin(const struct request *rq, const struct api_target *t,
                                         const struct api_activity_call *call);
/* The arguments of a program. A shell's line is recorded without the shell. */
void api_activity_add_args(struct activity_note *n, const char *const *args);
