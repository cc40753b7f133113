/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/routes.h — the route tables and the state of this surface. */
#pragma once

#include "http/server/http.h"

extern const struct route mcp_routes[];

struct api;
void mcp_state_open(struct api *api);
/* Cancels the calls that outlive their requests. */
void mcp_cancel_calls(struct api *api);
void mcp_state_close(struct api *api);
