/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/source.h — the address by which connections of a project's sandboxes leave. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct operation;

struct fleet;

/* Whether this host has the IPv4 address, and sandboxes may leave by it; "" is fine. ERROR_CONFLICT
 * when the server has a network_proxy: its address is what servers would see. */
MUST_CHECK int source_check(const struct fleet *f, const char *address, struct error *err);
/* The source address of the sandbox's project; "": it has none. Fails when the project cannot be
 * read, or the provider or this server cannot do it: then nothing is reachable. */
MUST_CHECK int source_find(const struct operation *op, const char **ret, struct error *err);
/* Whether this host does not have the address; "" is not missing. */
bool source_is_missing(const char *address);
/* The rules with the source address of the sandbox's project, as the provider gets them. */
const char *source_add(const struct operation *op, const char *egress);
