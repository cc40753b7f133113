/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_warm.h — AGENT_WARM of wire/agent.h: keeps an interpreter ready. */
#pragma once

#include "wire/wire.h"

/* An interpreter that starts and imports modules before there is code for it (agent/warm.h). The
 * same wish again changes nothing; another wish for the language replaces it. `user` and `env` must
 * be those of the commands that the interpreter serves. */
#define AGENT_WARM_IMPORTS_MAX 32
/* Limit of these frames in the set-up of a prepared sandbox, in a packet of their own. */
#define AGENT_WARM_WISH_MAX (32 * 1024)
struct agent_warm {
	const char *language; /* "python", "javascript" */
	const char **imports;
	const char **env;
	const char *user;
	const char
	        *cwd; /* where a language with folder-relative modules looks for them; "" = "/" */
};
extern const struct wire_member agent_warm_shape[];
