/* SPDX-License-Identifier: Apache-2.0 */
/* cli/check/server_place.h — where the server of the CLI runs. Private to this folder. */
#pragma once

struct cli;

/* Why the server is not known to run on this machine, or NULL if it does. A tunnel to another
 * machine listens here, too: the process that listens must be atolld. */
const char *server_why_elsewhere(struct cli *cli);
