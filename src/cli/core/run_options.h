/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/run_options.h — options that say how a command runs, shared by run, exec and shell. */
#pragma once

#include "cli/core/session.h"

#define OPTION_ENV                                                                                 \
	{                                                                                          \
		.name = "env", .letter = 'e', .value = "NAME=VALUE", .repeats = true,              \
		.about = "set a variable; NAME alone copies it from this environment",             \
		.member = ""                                                                       \
	}
#define OPTION_WORKDIR                                                                             \
	{                                                                                          \
		.name = "workdir", .letter = 'w', .value = "DIR", .about = "folder to run in",     \
		.member = "cwd"                                                                    \
	}
#define OPTION_USER                                                                                \
	{                                                                                          \
		.name = "user", .letter = 'u', .value = "USER", .about = "user inside the sandbox" \
	}
#define OPTIONS_RUN                                                                                \
	OPTION_ENV, OPTION_WORKDIR, OPTION_USER,                                                   \
	        {.name = "interactive",                                                            \
	         .letter = 'i',                                                                    \
	         .about = "use a terminal if stdin and stdout are one; Ctrl-\\ detaches"},         \
	{                                                                                          \
		.name = "timeout", .value = "DURATION",                                            \
		.about = "kill the command after this time, such as 90s; exit status 124"          \
	}

/* All values of a repeated option, NULL-terminated. */
const char *const *arguments_list(struct cli *cli, const char *name);
/* Fills all members but the sandbox; fails if there is no command. */
MUST_CHECK int run_options_parse(struct cli *cli, struct session_options *options);
