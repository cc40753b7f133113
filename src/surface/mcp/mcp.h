/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/mcp.h — one request of the Model Context Protocol, and its methods. */
#pragma once

#include "surface/mcp/client.h"
#include "surface/mcp/protocol.h"
#include "surface/tools/target.h"

struct api_hop;
struct request;

/* One request. */
struct mcp {
	struct request *rq;
	struct mcp_message message;
	struct tools_target target; /* where tools act, unless their arguments name a sandbox */
	const char *origin;         /* JSON: of background jobs, unless the call's _meta has one */
	struct mcp_abilities abilities; /* of the session's client */
	/* Of a call; see struct tool_call. */
	const struct cancel *cancel;
	void (*on_progress)(void *context, struct span text);
	void *progress_context;
	const struct mcp_client *client; /* NULL: it takes no messages */
	/* Set by mcp_ask. The method then writes no result. */
	struct span required; /* the questions that the result names: inputRequests as JSON */
	const char *missing;  /* the capability that the client lacks; NULL: none */
	int tool_status;      /* HTTP's for the result of a called tool; 0: none was called */
	struct api_hop *hop;  /* to another server, when that has the sandbox; NULL: not allowed */
};

/* Appends the members of the result. Fails with `fault` set. */
typedef int mcp_method(struct mcp *m, struct buf *out, struct mcp_fault *fault);
mcp_method mcp_tools_list, mcp_tools_call, mcp_resources_list, mcp_resource_templates,
        mcp_resources_read, mcp_prompts_list, mcp_prompts_get, mcp_complete,
        mcp_resources_subscribe, mcp_resources_unsubscribe;

/* "ID" of "atoll://sandbox/ID"; NULL for other addresses. */
const char *mcp_sandbox_of_uri(struct arena *a, const char *uri);
/* Whether resources/templates/list has it. */
bool mcp_is_resource_template(const char *uri_template);
/* "completion":{…} */
void mcp_write_completion(struct buf *out, const char *const *values, size_t count, size_t total);
/* When a call failed because another server has the sandbox, connects to that server. Always -1;
 * err is the answer if there is no connection. */
int mcp_fail_elsewhere(struct mcp *m, struct error *err);
/* Makes a fault of an error. Always -1. */
int mcp_refuse_error(struct mcp_fault *fault, const struct error *err);
