/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/fixtures.h — tools, resources and prompts with the names that the protocol's
 * conformance suite calls. Only with the option mcp_fixtures, which is for conformance tests: they
 * do nothing useful, and touch no sandbox. */
#pragma once

#include <stdbool.h>

struct buf;
struct mcp;
struct mcp_fault;

enum mcp_fixture_list {
	MCP_FIXTURE_TOOLS,
	MCP_FIXTURE_RESOURCES,
	MCP_FIXTURE_TEMPLATES,
	MCP_FIXTURE_PROMPTS
};
/* Adds the fixtures to a list, if the option is on. */
void mcp_fixtures_list(const struct mcp *m, enum mcp_fixture_list which, struct buf *out);
/* Answers a request that names a fixture. False: it names none, or the option is off. *ret is the
 * method's result. */
bool mcp_fixture_answer(struct mcp *m, struct buf *out, struct mcp_fault *fault, int *ret);
bool mcp_fixture_is_resource(const char *uri);
