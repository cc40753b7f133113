/* SPDX-License-Identifier: Apache-2.0 */
/* calls/jobs.h — commands in the background, for every path that starts one. Private to this
 * folder.
 */
#pragma once

#include "base/clock.h"
#include "calls/command.h"
#include "edge/caller.h"
#include "job/job.h"

/* The one given, else the header Atoll-Conversation, else "". */
const char *api_conversation(const struct request *rq, const char *given);

struct background_command {
	const char *conversation; /* as given; NULL = by the header */
	const struct job_origin *origin;
	const char *command; /* for people */
};
/* Starts it; the reply is its process and its resultId. */
MUST_CHECK int background_command_start(struct request *rq, const struct api_target *t,
                                        const struct sandbox_command *c,
                                        const struct background_command *b, struct reply *reply,
                                        struct error *err);
