/* SPDX-License-Identifier: Apache-2.0 */
/* edge/hosts.h — which values of the Host header name this server.
 *
 * Another party can point a name of its own at this server and lead a browser here (DNS rebinding).
 * The server therefore answers only under names that it is configured with, and under addresses.
 * `host` is a Host header's value: a port and a final dot are ignored unless stated. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct config;

/* The part before ".DOMAIN" of a name below the option preview_domain; empty for other names. */
struct span host_label(const struct config *config, struct span host);
/* Whether it is the host of the option preview_origin; the port counts, since the origin may be
 * another port of the same machine. */
bool host_is_preview_origin(const struct config *config, struct span host);
/* Whether other servers with the same configuration are known by this name, too: false for the name
 * of this machine alone. */
bool host_is_shared(const struct config *config, struct span host);
bool host_is_ours(const struct config *config, struct span host);
