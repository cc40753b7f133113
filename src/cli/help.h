/* SPDX-License-Identifier: Apache-2.0 */
/* cli/help.h — help and shell completion, written from the tables. Private to this folder. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "cli/command.h"

#define HELP_SIZE_MAX (256u * 1024)

/* All commands, a line each. */
void help_print_all(struct buf *out);
/* One command; `parent` of a subcommand, else NULL. */
void help_print(struct buf *out, const struct cli_command *parent,
                const struct cli_command *command);

/* Either of them to standard output; a NULL command is all of them. */
void help_show(const struct cli_command *parent, const struct cli_command *command);

/* A script for "bash", "zsh" or "fish" that the user sources. */
MUST_CHECK int completion_print(struct buf *out, const char *shell, struct error *err);
