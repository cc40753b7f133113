/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/server_options.h — the options of config/config.h as options of commands. Private to
 * this folder. */
#pragma once

#include "cli/command.h"

/* A table of them all, and --config; process lifetime. */
const struct command_option *server_options(void);
/* The same, and `own` behind them; of one call in a process. */
const struct command_option *server_options_with(const struct command_option *own);
/* Those that were given, from index 1 on, as PREFIX "name=value"; NULL-terminated. Index 0 is the
 * caller's. `json` and `help` are left out. */
char **server_options_flags(struct arena *a, const struct cli_arguments *args, const char *prefix);
