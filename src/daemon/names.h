/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/names.h — the gateway for host names in network rules (egress/egress.h): its process, and
 * its sockets, which the supervisor owns.
 *
 * The first packet for it starts the process: a server without such rules has none. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "daemon/options.h"

struct identity;

enum names_fd { NAMES_HTTP, NAMES_TLS, NAMES_DNS, NAMES_RULES };
struct names_process {
	int fds[NAMES_FDS];
	unsigned ports[NAMES_RULES]; /* for the broker; 0 = no gateway */
};
#define NAMES_CLOSED ((struct names_process){.fds = {-1, -1, -1, -1}})
/* Opens sockets at an address that only links of sandboxes have, and DATA/run/names, which the
 * group may read. */
MUST_CHECK int names_open(struct names_process *ret, int run_fd, gid_t group, struct error *err);
void names_close(struct names_process *names);

/* The login of network_proxy_login_file in an unnamed file, for the gateway, which cannot read the
 * file itself; -1 without one. */
MUST_CHECK int names_login_open(const struct config *config, int *ret_fd, struct error *err);

/* Limits system calls to those that the running gateway needs; others fail with EPERM. Needs
 * no_new_privs. Descriptors can be passed over `handover_fd` alone, and come over `sources_fd`
 * alone; either may be -1. */
MUST_CHECK int names_filter(int handover_fd, int sources_fd, struct error *err);
/* The same for the child of egress/sources.h, whose end of the pair is `fd`. */
MUST_CHECK int names_sources_filter(int fd, struct error *err);
/* Starts that child, as this user. The pair's other end is for egress_options. The child ends with
 * the calling process. */
MUST_CHECK int names_sources_start(const struct identity *identity, int *ret_fd, struct error *err);
/* Runs the role "names" until it fails. It begins as root and becomes an unprivileged user in a
 * folder of text files. */
MUST_CHECK int names_run(const struct daemon_options *options, const struct config *config,
                         struct error *err);
