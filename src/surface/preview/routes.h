/* SPDX-License-Identifier: Apache-2.0 */
/* surface/preview/routes.h — the route tables and the state of this surface. */
#pragma once

#include "http/server/http.h"

extern const struct route preview_routes[];
extern const struct route preview_settings_routes[];

/* For server_options. */
struct http_host preview_find_host(void *context, struct span host);

struct api;
void preview_state_open(struct api *api);
void preview_state_close(struct api *api);
