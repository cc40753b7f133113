/* SPDX-License-Identifier: Apache-2.0 */
/* cli/idle.h — the options for idle timeouts of a project and of a template. */
#pragma once

#include "base/buf.h"
#include "cli/command.h"

#define OPTIONS_IDLE                                                                               \
	{.name = "idle-pause",                                                                     \
	 .value = "DURATION",                                                                      \
	 .about = "pause after this time without use, or never; 0s = inherit"},                    \
	        {.name = "idle-stop",                                                              \
	         .value = "DURATION",                                                              \
	         .about = "stop after this time without use, or never; 0s = inherit"},             \
	        {.name = "idle-reap",                                                              \
	         .value = "DURATION",                                                              \
	         .about = "remove ephemeral sandboxes after this time without use"},               \
	{                                                                                          \
		.name = "lifetime-max", .value = "DURATION",                                       \
		.about = "remove ephemeral sandboxes at this age"                                  \
	}

/* An option and its members in request bodies. */
struct idle_option {
	const char *option, *in_seconds, *in_ms;
	bool may_be_never;
};
#define IDLE_OPTIONS 4
extern const struct idle_option idle_options[IDLE_OPTIONS];
/* -1 = never. Keeps *ret_ms unchanged if the option is not given. */
MUST_CHECK int idle_option_get(const struct cli_arguments *args, const struct idle_option *option,
                               int64_t *ret_ms, struct error *err);
