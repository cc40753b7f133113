/* SPDX-License-Identifier: Apache-2.0 */
/* cli/account/password.h — private: reads a password. */
#pragma once

#include "cli/core/command.h"

/* Adds the password as a member of the body. Asks twice on a terminal, without echo; else reads one
 * line of standard input. */
MUST_CHECK int password_ask(struct cli *cli, struct buf *body, const char *member);
