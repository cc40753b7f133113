/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/certificate.h — certificate and key on their way from their files, which the api process
 * may be unable to read, into a file without a name that it inherits. Private to this folder.
 *
 * The supervisor looks at the files every few seconds, and at once on SIGHUP. What changed and is
 * right replaces what was there, and the api process is told by SIGHUP; what is not right is
 * logged, and all goes on with what there was. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "config/config.h"

#define CERTIFICATE_LOOK_MS 3000

struct certificate_mark {
	uint64_t device, inode, size;
	int64_t changed_ns;
};
struct certificate_source {
	const char *paths[2]; /* certificate, key */
	struct certificate_mark seen[2];
	int memory_fd; /* both; -1 = the server speaks no TLS */
	int64_t look_at_ms;
};
/* Reads them; fails when they do not fit. Without config->tls_listen there is nothing to do. */
MUST_CHECK int certificate_open(struct arena *a, const struct config *config,
                                struct certificate_source *ret, struct error *err);
void certificate_close(struct certificate_source *s); /* memory_fd may be -1 */
/* True when there is another one in memory_fd. `is_asked`: now, and tells when it is the same. */
bool certificate_look(struct certificate_source *s, int64_t now_ms, bool is_asked);

struct http_server;
/* Gives the server, which is in the api process, what memory_fd holds: for those who connect from
 * then on. */
MUST_CHECK int certificate_take(struct http_server *server, int memory_fd, struct error *err);
