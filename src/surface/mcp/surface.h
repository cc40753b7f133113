/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/surface.h — the state of the MCP surface. Process lifetime. */
#pragma once

struct mcp_asks;
struct mcp_calls;
struct mcp_sessions;

struct mcp_surface {
	struct mcp_sessions *sessions;
	struct mcp_calls *calls; /* running tool calls */
	struct mcp_asks *asks;   /* their questions to clients */
};
