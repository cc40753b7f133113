/* SPDX-License-Identifier: Apache-2.0 */
/* image/outlet.h — access to the internet, and to no other network, for a program that connects
 * where a registry says its blobs and tokens are. The program is in a network namespace with only
 * loopback, where it finds a proxy that knows CONNECT. The proxy runs in the machine's own network
 * as an unprivileged user. It looks the name up, and connects only to public addresses
 * (base/address.h). */
#pragma once

#include <sys/types.h>

#include "base/error.h"

#define OUTLET_PORT 3128
#define OUTLET_URL "http://127.0.0.1:3128" /* for HTTPS_PROXY, inside */
/* The message of a program whose connection the proxy refuses. */
#define OUTLET_REFUSAL "an address of the server's own network"

struct outlet {
	int network_fd; /* the namespace */
	pid_t pid;
};
#define OUTLET_CLOSED ((struct outlet){-1, -1})
/* Needs root. The proxy ends with this process. */
MUST_CHECK int outlet_open(struct outlet *ret, struct error *err);
void outlet_close(struct outlet *outlet);
