/* SPDX-License-Identifier: Apache-2.0 */
/* egress/handover.h — how the gateway for names hands a connection to the credential proxy: a
 * message with descriptors over a SOCK_SEQPACKET socket.
 *
 * The gateway has read the host name, checked the rules, chosen and checked the address, and
 * connected. It keeps copies of both sockets and one end of a pair, so that either process notices
 * when the other ends the connection, or dies. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "base/id.h"
#include "egress/look.h"

enum handover_fd { HANDOVER_CLIENT, HANDOVER_SERVER, HANDOVER_TOKEN, HANDOVER_FDS };

#define HANDOVER_TLS 443
#define HANDOVER_HTTP 80
struct handover {
	char sandbox[ID_SIZE + 1];
	char host[SANDBOX_HOST_NAME_MAX + 1]; /* of the ClientHello, or of the first request */
	uint32_t address;                     /* of the host; IPv4, host byte order */
	struct address6 address6;             /* instead of it */
	uint32_t begun_size;                  /* bytes that were read from the client before */
	uint16_t port;                        /* HANDOVER_TLS, or HANDOVER_HTTP: no TLS */
};

/* The proxy's messages over the pair: HANDOVER_TAKEN once, HANDOVER_DONE at the end. */
enum handover_state { HANDOVER_TAKEN, HANDOVER_DONE };
struct handover_news {
	uint64_t state, bytes_in, bytes_out;
};

/* Never waits. The descriptors stay the caller's. */
MUST_CHECK int handover_send(int fd, const struct handover *h, struct span begun,
                             const int fds[HANDOVER_FDS], struct error *err);
/* Returns 1 with a connection, whose descriptors are the caller's; 0 when there is none now. A
 * malformed message fails. `begun` is emptied first. */
MUST_CHECK int handover_receive(int fd, struct handover *ret, struct buf *begun,
                                int ret_fds[HANDOVER_FDS], struct error *err);
