/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/run_options.h — options that say how a command runs, shared by run, exec and shell. */
#pragma once

#include "cli/core/session.h"

#define OPTION_ENV                                                                                 \
	{                                                                                          \
		"env", "NAME=VALUE", "set a variable; NAME alone copies it from this environment", \
		        .letter = 'e', .repeats = true, .member = ""                               \
	}
#define OPTION_WORKDIR                                                                             \
	{                                                                                          \
		"workdir", "DIR", "folder to run in", .letter = 'w', .member = "cwd"               \
	}
#define OPTION_USER                                                                                \
	{                                                                                          \
		"user", "USER", "user inside the sandbox", .letter = 'u'                           \
	}
#define OPTION_RECORD                                                                              \
	{                                                                                          \
		"record", NULL, "record its output, and print how to replay it"                    \
	}
#define OPTIONS_RUN                                                                                \
	OPTION_ENV, OPTION_WORKDIR, OPTION_USER,                                                   \
	        {"interactive", NULL,                                                              \
	         "use a terminal if stdin and stdout are one; Ctrl-\\ detaches", .letter = 'i'},   \
	{                                                                                          \
		"timeout", "DURATION",                                                             \
		        "kill the command after this time, such as 90s; exit status 124"           \
	}

/* All values of a repeated option, NULL-terminated. */
const char *const *arguments_list(struct cli *cli, const char *name);
/* Fills all members but the sandbox; fails if there is no command. */
MUST_CHECK int run_options_parse(struct cli *cli, struct session_options *options);
