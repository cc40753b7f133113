/* SPDX-License-Identifier: Apache-2.0 */
/* http/names.h — the addresses of names, for http/dial.h. Any thread.
 *
 * The system's own look-up knows no deadline and may hang for tens of seconds: it is done on one
 * thread that nobody waits for longer than he wants to. What was found is used from then on, and
 * asked for again beside that; a name whose servers have gone keeps its addresses for a while. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

#define NAMES_HOST_MAX 255
#define NAMES_ADDRESSES_MAX 8

struct names_address {
	struct sockaddr_storage at; /* its port is 0 */
	socklen_t size;
};
struct names_found {
	struct names_address items[NAMES_ADDRESSES_MAX];
	unsigned count;
};

/* What asks the system; as long as that takes. */
typedef int names_lookup(const char *host, struct names_found *ret, struct error *err);

struct host_lookup;
struct host_lookup *names_new(names_lookup *lookup); /* NULL: the system's */
/* Nobody waits any more. A look-up that hangs is left alone, and ends by itself. NULL is fine. */
void names_free(struct host_lookup *names);

/* At least one address; an address is its own. ERROR_TIMEOUT when they are not known by then. */
MUST_CHECK int names_find(struct host_lookup *names, const char *host, int64_t deadline,
                          struct names_found *ret, struct error *err);
/* This one has answered: it comes first from now on. */
void names_prefer(struct host_lookup *names, const char *host, const struct names_address *address);
