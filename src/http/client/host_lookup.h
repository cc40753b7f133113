/* SPDX-License-Identifier: Apache-2.0 */
/* http/client/host_lookup.h — resolves host names for http/client/dial.h. Any thread.
 *
 * The system's resolver has no deadline and may hang for tens of seconds, so a separate thread
 * calls it and callers wait only until their deadline. Found addresses are cached and refreshed in
 * the background; when a refresh fails, the old addresses stay for a while. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

struct sockaddr_storage;

#define HOST_NAME_SIZE_MAX 255
#define HOST_ADDRESSES_MAX 8

struct host_address {
	struct sockaddr_storage at; /* port 0 */
	socklen_t size;
};
struct host_addresses {
	struct host_address items[HOST_ADDRESSES_MAX];
	unsigned count;
};

/* False for a name. */
bool host_address_parse(const char *host, struct host_address *ret);

/* Resolves a name; may block. */
typedef int host_lookup_call(const char *host, struct host_addresses *ret, struct error *err);

struct host_lookup;
struct host_lookup *host_lookup_new(host_lookup_call *resolve); /* NULL: the system's resolver */
/* Requires that no thread waits. A hanging lookup is left behind and frees itself. NULL is fine. */
void host_lookup_free(struct host_lookup *names);

/* Finds at least one address; an IP address gives itself. ERROR_TIMEOUT when the deadline passes
 * first. */
MUST_CHECK int host_lookup_find(struct host_lookup *names, const char *host, int64_t deadline,
                                struct host_addresses *ret, struct error *err);
/* Puts an address that answered first in later results. */
void host_lookup_prefer(struct host_lookup *names, const char *host,
                        const struct host_address *address);
