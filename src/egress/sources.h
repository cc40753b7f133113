/* SPDX-License-Identifier: Apache-2.0 */
/* egress/sources.h — sockets that leave by the source address of a project.
 *
 * A child of the gateway makes them. The gateway reads bytes of every sandbox: if it is taken over
 * and may call bind(2), it can hold UDP ports of the host, because a filter of system calls sees
 * neither the port nor the kind of the socket. The child reads an address and nothing else, and
 * passes a TCP socket back that has the address, and no port yet. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* In the child: answers until the gateway has ended. */
void sources_serve(int fd);
/* In the gateway, over the other end of the pair (SOCK_SEQPACKET): a socket that does not block,
 * for an address in host byte order. *ret_fd is -1 when the host does not have the address. Fails
 * when the child does not answer; nothing can be asked after that. */
MUST_CHECK int sources_ask(int fd, uint32_t address, int *ret_fd, struct error *err);
