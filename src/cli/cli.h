/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cli.h — the command line: `atoll COMMAND …`.
 *
 * Commands are rows of one table (commands.c); help and shell completion are written from it. */
#pragma once

/* Returns the exit status: the inner command's for run, exec and shell; 120 to 125 when Atoll
 * itself failed (base/error.h). */
int cli_main(int argc, char **argv);
