/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/server_options.h — the server's options (config/option.h) as options of commands. */
#pragma once

#include "cli/core/command.h"

/* A table of all options and --config; lives as long as the process. */
const struct command_option *server_options(void);
/* The same table followed by `own`; may be called once per process. */
const struct command_option *server_options_with(const struct command_option *own);
/* Becomes atolld with the given options and this flag; NULL = no flag. Returns if it fails. */
MUST_CHECK int server_exec(struct cli *cli, const char *flag);
/* The given options as PREFIX "name=value" from index 1 on, NULL-terminated; index 0 is the
 * caller's. Leaves out `json` and `help`; has room for another one. */
char **server_options_flags(struct arena *a, const struct cli_arguments *args, const char *prefix);
