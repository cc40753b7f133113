/* SPDX-License-Identifier: Apache-2.0 */
/* agent/rehearse.h — makes the first command of a prepared sandbox as fast as later ones.
 *
 * It looks up names that almost every command needs, so that the kernel caches them, and starts a
 * command that does not exist, so that the agent's own pages are mapped. No program of the sandbox
 * runs, and no file is read. */
#pragma once

/* Call before the agent takes requests. Failures are ignored: the first command reports them. */
void rehearse_first_command(void);
