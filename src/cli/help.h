/* SPDX-License-Identifier: Apache-2.0 */
/* cli/help.h — help and shell completion, generated from the tables of commands. */
#pragma once

#include "base/bytes.h"
#include "cli/core/command.h"

#define HELP_SIZE_MAX (512u * 1024)

/* Lists all commands. */
void help_print_all(struct buf *out);
/* Prints the help of a command; `parent` is NULL unless it is a subcommand. */
void help_print(struct buf *out, const struct cli_command *parent,
                const struct cli_command *command);

/* Prints to standard output, with bold headings if it has colours; NULL lists all commands. */
void help_show(const struct cli_command *parent, const struct cli_command *command,
               const struct display *display);

/* Prints a script for "bash", "zsh" or "fish". */
MUST_CHECK int completion_print(struct buf *out, const char *shell, struct error *err);
