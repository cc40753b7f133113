/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/options.h — the command line of atolld. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "config/config.h"
#include "fleet/server/pair.h"

enum daemon_role { ROLE_SUPERVISOR, ROLE_API, ROLE_NAMES, ROLE_CREDENTIALS };

#define LISTEN_FDS_MAX 4
#define NAMES_FDS 4

struct daemon_options {
	enum daemon_role role;
	bool help, version, openapi;
	enum fleet_claim claim; /* of a store that does not match the data folder */
	const char *config_file;
	const char *config_origins; /* of the supervisor's configuration; NULL = none */
	const char **flags;         /* "name=value" for config_load, NULL-terminated */
	/* Passed from the supervisor to the api process; -1 = none. */
	int listen_fds[LISTEN_FDS_MAX];
	unsigned listen_count;
	int key_fd, ready_fd;
	int tls_listen_fd, certificate_fd;
	int names_fds[NAMES_FDS]; /* of the gateway for host names, see names.h */
	unsigned names_count;
	/* Network decisions (reports.h): the gateway writes to the first, the api process reads. */
	int reports_fd, packets_fd;
	/* Of the credential proxy (credentials.h): its socket for the api process, and one end of
	 * the way from the gateway to it. */
	int control_fd, handover_fd;
	int login_fd; /* of the gateway: a file with its login at the upstream proxy */
};
MUST_CHECK int daemon_options_parse(struct arena *a, int argc, char **argv,
                                    struct daemon_options *ret, struct error *err);
void daemon_options_help(struct buf *out);
/* Loads the configuration from flags, environment and file. */
MUST_CHECK int daemon_config_load(struct arena *a, const struct daemon_options *o,
                                  struct config *ret, struct error *err);
