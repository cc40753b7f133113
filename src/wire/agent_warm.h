/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_warm.h — AGENT_WARM of wire/agent.h: keep an interpreter ready from now on. */
#pragma once

#include "wire/wire.h"

/* An interpreter that has started and imported modules before there is code for it (agent/warm.h).
 * The same wish again changes nothing, another one for the language takes its place. Who and with
 * which variables: those of the commands that it is to serve. */
#define AGENT_WARM_IMPORTS_MAX 32
/* Of the frames that a sandbox gets before it is anybody's, in a packet of their own. */
#define AGENT_WARM_WISH_MAX (32 * 1024)
struct agent_warm {
	const char *language; /* "python", "javascript" */
	const char **imports;
	const char **env;
	const char *user;
	const char
	        *cwd; /* where a language that looks for modules from a folder does so; "" = "/" */
};
extern const struct wire_member agent_warm_shape[];
