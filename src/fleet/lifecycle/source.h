/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/source.h — the address by which connections of a project's sandboxes leave. */
#pragma once

#include "base/error.h"

struct operation;

struct fleet;

/* Whether this host has the IPv4 address, and sandboxes may leave by it; "" is fine. ERROR_CONFLICT
 * when the server has a network_proxy: its address is what servers would see. */
MUST_CHECK int source_check(const struct fleet *f, const char *address, struct error *err);
/* The rules with the source address of the sandbox's project, as the provider gets them. Nothing
 * is reachable when the project cannot be read, or the provider or this server cannot do it. */
const char *source_add(const struct operation *op, const char *egress);
