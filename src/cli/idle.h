/* SPDX-License-Identifier: Apache-2.0 */
/* cli/idle.h — the options that say what becomes of sandboxes that nobody uses, of a project and of
 * a template. Private to this folder. */
#pragma once

#include "base/buf.h"
#include "cli/command.h"

#define OPTIONS_IDLE                                                                               \
	{.name = "idle-pause",                                                                     \
	 .value = "DURATION",                                                                      \
	 .about = "pause after so long without use, or never; 0s = what is said elsewhere"},       \
	        {.name = "idle-stop",                                                              \
	         .value = "DURATION",                                                              \
	         .about = "stop, and keep the files, after so long without use; the same"},        \
	        {.name = "idle-reap",                                                              \
	         .value = "DURATION",                                                              \
	         .about = "remove an ephemeral one after so long without use"},                    \
	{                                                                                          \
		.name = "lifetime-max", .value = "DURATION",                                       \
		.about = "remove an ephemeral one at this age"                                     \
	}

/* Each of the options above, and what bodies call it. */
struct idle_option {
	const char *option, *in_seconds, *in_ms;
	bool may_be_never;
};
#define IDLE_OPTIONS 4
extern const struct idle_option idle_options[IDLE_OPTIONS];
/* -1 = never. *ret_ms keeps what it holds when the option was not given. */
MUST_CHECK int idle_option_get(const struct cli_arguments *args, const struct idle_option *option,
                               int64_t *ret_ms, struct error *err);
