/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/credentials.h — the credential proxy (credential/proxy/proxy.h): its process, and its
 * sockets, which the supervisor owns.
 *
 * The first set of credentials, or the first connection, starts the process: a server without
 * credentials has none. */
#pragma once

#include "base/error.h"
#include "daemon/identity.h"
#include "daemon/options.h"

#define CREDENTIALS_SOCKET "credentials.sock" /* in DATA/run */

struct credentials_process {
	int control_fd; /* listens for the api process */
	int proxy_fd;   /* the proxy takes connections here */
	int gateway_fd; /* and the gateway for names hands them over */
};
#define CREDENTIALS_CLOSED ((struct credentials_process){-1, -1, -1})
/* Opens the sockets. The api process's user may connect. */
MUST_CHECK int credentials_open(struct credentials_process *ret, int run_fd,
                                const struct identity *identity, struct error *err);
void credentials_close(struct credentials_process *credentials);

/* Limits system calls to those that the running proxy needs; others fail with EPERM. Needs
 * no_new_privs. */
MUST_CHECK int credentials_filter(struct error *err);
/* Runs the role "credentials" until it fails. It begins as root and becomes an unprivileged user in
 * an empty folder, whose memory other processes of the user cannot read. */
MUST_CHECK int credentials_run(const struct daemon_options *options, const struct config *config,
                               struct error *err);
