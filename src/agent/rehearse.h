/* SPDX-License-Identifier: Apache-2.0 */
/* agent/rehearse.h — what makes the first command of a prepared sandbox as fast as the next ones.
 *
 * Of the sandbox's own nothing runs, and nothing is read: names are looked up that almost every
 * command needs, so that the kernel knows them, and a command is started that does not exist, so
 * that our own pages are there. */
#pragma once

/* Before the agent takes requests. Whatever fails in it, the first command will tell. */
void rehearse_first_command(void);
