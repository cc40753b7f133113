/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_options.h — the options that say how a command runs, shared by run, exec and shell.
 * Private to this folder. */
#pragma once

#include "cli/session.h"

#define OPTION_ENV                                                                                 \
	{                                                                                          \
		.name = "env", .letter = 'e', .value = "NAME=VALUE", .repeats = true,              \
		.about = "set a variable; NAME alone takes it from here"                           \
	}
#define OPTION_WORKDIR                                                                             \
	{                                                                                          \
		.name = "workdir", .letter = 'w', .value = "DIR", .about = "folder to run in"      \
	}
#define OPTION_USER                                                                                \
	{                                                                                          \
		.name = "user", .letter = 'u', .value = "USER", .about = "who runs it"             \
	}
#define OPTIONS_RUN                                                                                \
	OPTION_ENV, OPTION_WORKDIR, OPTION_USER,                                                   \
	        {.name = "interactive",                                                            \
	         .letter = 'i',                                                                    \
	         .about = "on a terminal, when this is one; Ctrl-\\ detaches"},                    \
	{                                                                                          \
		.name = "timeout", .value = "DURATION",                                            \
		.about = "kill it after so long, such as 90s; exit status 124"                     \
	}

/* Every value of a repeated option, NULL-terminated. */
const char *const *arguments_list(struct cli *cli, const char *name);
/* Fills all but the sandbox; refuses a missing command. */
MUST_CHECK int run_options_parse(struct cli *cli, struct session_options *options);
