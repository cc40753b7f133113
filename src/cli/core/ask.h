/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/ask.h — asks for confirmation before a step that is hard to undo. */
#pragma once

#include "cli/core/command.h"

/* Returns 0 if the user answers yes or the option `yes` is given. Without a terminal it fails with
 * ERROR_INVALID, and the hint names the option. */
MUST_CHECK int ask_first(struct cli *cli, const char *question);
