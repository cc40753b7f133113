/* SPDX-License-Identifier: Apache-2.0 */
/* cli/ask.h — a question before something that is hard to undo. Private to this folder. */
#pragma once

#include "cli/command.h"

/* 0 when the answer is yes, or the option `yes` was given. Without a terminal there is no answer:
 * ERROR_INVALID, whose hint names the option. */
MUST_CHECK int ask_first(struct cli *cli, const char *question);
