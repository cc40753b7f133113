/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/certificate.h — passes certificate and key to the api process, which may be unable to read
 * their files, in an unnamed file that it inherits.
 *
 * The supervisor checks the files every few seconds and on SIGHUP. A changed and valid pair
 * replaces the old one, and SIGHUP tells the api process. An invalid pair is logged, and the old
 * one stays in use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct config;
struct http_server;

#define CERTIFICATE_LOOK_MS 3000

struct certificate_mark {
	uint64_t device, inode, size;
	int64_t changed_ns;
};
struct certificate_source {
	const char *paths[2]; /* certificate, key */
	struct certificate_mark seen[2];
	int memory_fd; /* holds both; -1 = the server does not use TLS */
	int64_t look_at_ms;
};
/* Reads both files; fails if they do not match. Does nothing without config->tls_listen. */
MUST_CHECK int certificate_open(struct arena *a, const struct config *config,
                                struct certificate_source *ret, struct error *err);
void certificate_close(struct certificate_source *s); /* memory_fd may be -1 */
/* Checks the files. Returns true if memory_fd holds a new pair. `is_asked`: checks now and logs
 * that a pair is unchanged. */
bool certificate_look(struct certificate_source *s, int64_t now_ms, bool is_asked);

/* Gives the contents of memory_fd to the HTTP server of the api process; applies to later
 * connections. */
MUST_CHECK int certificate_take(struct http_server *server, int memory_fd, struct error *err);
