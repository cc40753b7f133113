/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/stopped_files.h — answers to calls that look at files of a stopped sandbox.
 * Private to the folder. */
#pragma once

#include <stdint.h>

#include "http/server/http.h"

#define STOPPED_CONTENT_MAX (16 * 1024 * 1024) /* bytes of a file that one call reads */

struct stopped_look {
	uint16_t type; /* AGENT_LIST, AGENT_STAT or AGENT_READ */
	const char *path, *user, *after;
	uint32_t depth, flags; /* enum agent_path_flag */
	uint64_t limit, offset;
};
/* For a call that was refused by `err`: if the sandbox of ":id" is stopped, answers from its files
 * and returns 0. Otherwise leaves err as it is and returns -1. */
MUST_CHECK int stopped_files_answer(struct request *rq, const struct stopped_look *look,
                                    struct reply *reply, struct error *err);
