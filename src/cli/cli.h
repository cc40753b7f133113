/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cli.h — the command line: `atoll COMMAND …`.
 *
 * One table (commands.c) lists the commands; help and shell completion come from it. */
#pragma once

/* Returns the exit status: that of the inner command for run, exec and shell; 120 to 125 if Atoll
 * itself failed (base/error.h). */
int cli_main(int argc, char **argv);
