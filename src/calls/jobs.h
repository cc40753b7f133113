/* SPDX-License-Identifier: Apache-2.0 */
/* calls/jobs.h — starts a command in the background, for all surfaces. */
#pragma once

#include "edge/api.h"
#include "http/server/http.h"

struct api_target;
struct job_origin;
struct sandbox_command;

/* `given`, else the header Atoll-Conversation, else "". */
const char *api_conversation(const struct request *rq, const char *given);

struct background_command {
	const char *conversation; /* NULL: by the header */
	const struct job_origin *origin;
	const char *command; /* as shown to people */
	bool is_recorded;    /* terminal/recording.h */
};
/* Starts the job. The reply is 202 with the process and its resultId. */
MUST_CHECK int background_command_start(struct request *rq, const struct api_target *t,
                                        const struct sandbox_command *c,
                                        const struct background_command *b, struct reply *reply,
                                        struct error *err);
