/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/names.h — the gateway for hosts' names in the rules of sandboxes (egress/egress.h): its
 * sockets, which are the supervisor's and outlive it, and its process. Private to this folder.
 *
 * The process is started by the first packet that is led to it: a server without such rules has
 * none. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "config/config.h"
#include "daemon/options.h"

enum names_fd { NAMES_HTTP, NAMES_TLS, NAMES_DNS, NAMES_RULES };
struct names_process {
	int fds[NAMES_FDS];
	unsigned ports[NAMES_RULES]; /* for the broker; 0 = there is no gateway */
};
#define NAMES_CLOSED ((struct names_process){.fds = {-1, -1, -1, -1}})
/* Sockets at an address that only links of sandboxes have, and DATA/run/names, which the group may
 * read. */
MUST_CHECK int names_open(struct names_process *ret, int run_fd, gid_t group, struct error *err);
void names_close(struct names_process *names);

/* All that its process needs from then on; what else it calls is EPERM. Needs no_new_privs. */
MUST_CHECK int names_filter(struct error *err);
/* The role "names": until it fails. Begins as root, and then is nobody in a folder of texts. */
MUST_CHECK int names_run(const struct daemon_options *options, const struct config *config,
                         struct error *err);
