/* SPDX-License-Identifier: Apache-2.0 */
/* image/outlet.h — the way to the internet, and to nowhere else, of a program that strangers tell
 * where to connect: a registry says where its blobs and its tokens are. Private to image/.
 *
 * The program is in a network namespace with nothing but loopback, where it finds a proxy that
 * knows CONNECT. That is a process of the machine's own network, and nobody there: it looks the
 * name up, and connects to those of its addresses that are public (base/address.h). */
#pragma once

#include <sys/types.h>

#include "base/error.h"

#define OUTLET_PORT 3128
#define OUTLET_URL "http://127.0.0.1:3128" /* for HTTPS_PROXY, inside */
/* What a program says of it whose connection was refused. */
#define OUTLET_REFUSAL "an address of the server's own network"

struct outlet {
	int network_fd; /* the namespace */
	pid_t pid;
};
#define OUTLET_CLOSED ((struct outlet){-1, -1})
/* Needs root. The process ends with this one. */
MUST_CHECK int outlet_open(struct outlet *ret, struct error *err);
void outlet_close(struct outlet *outlet);
