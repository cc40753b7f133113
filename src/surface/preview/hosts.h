/* SPDX-License-Identifier: Apache-2.0 */
/* surface/preview/hosts.h — hosts of previews: PORT-ID.DOMAIN. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct config;
struct route;

/* False also for the names "api" and "sandbox" below the domain, which are the server itself. */
bool preview_host_is_sandbox(const struct config *config, struct span host);
/* `ret_id` has ID_SIZE + 1 bytes. */
MUST_CHECK int preview_host_parse(const struct config *config, struct span host, char ret_id[],
                                  uint16_t *ret_port, struct error *err);
extern const struct route preview_host_route;
