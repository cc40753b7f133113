/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/client.h — messages from the server to the client of a running call: notifications,
 * and requests whose responses the client posts.
 *
 * They need a client that accepts a stream of events. Requests need a session in addition, which
 * the response names; in the modern era they need neither (mcp_ask). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct cancel;
struct json_value;
struct mcp;

enum mcp_log_level {
	MCP_LOG_DEBUG,
	MCP_LOG_INFO,
	MCP_LOG_NOTICE,
	MCP_LOG_WARNING,
	MCP_LOG_ERROR,
	MCP_LOG_CRITICAL,
	MCP_LOG_ALERT,
	MCP_LOG_EMERGENCY,
	MCP_LOG_OFF, /* until the client sets a level */
};
/* MCP_LOG_OFF for an unknown name. */
enum mcp_log_level mcp_log_level_find(const char *name);

/* What a session's client has said about itself. */
struct mcp_abilities {
	bool can_sample, can_elicit;
	enum mcp_log_level log_level; /* the least important one that it wants */
};

/* The requests that wait for a response. Any thread. */
struct mcp_asks;
struct mcp_asks *mcp_asks_new(void);
void mcp_asks_free(struct mcp_asks *asks); /* NULL is fine; no call runs any more */
/* Hands over the response of a client: the whole message. A response that no call waits for is
 * dropped. `owner` and `id` as in mcp_calls_cancel. */
void mcp_asks_answer(struct mcp_asks *asks, const char *owner, struct span id, struct span message);

/* The client of one call. */
struct mcp_client {
	/* False: the client takes no more messages now. */
	bool (*send)(void *context, struct span message);
	void *context;
	struct mcp_asks *asks;
	const char *owner; /* NULL: the client cannot respond */
	struct span token; /* progressToken as JSON; empty: it asks for no progress */
	struct mcp_abilities abilities;
	const struct cancel *cancel;
};

/* These do nothing for a client that takes no stream, or does not want the message. */
void mcp_client_log(const struct mcp_client *client, enum mcp_log_level level, const char *logger,
                    struct span text);
void mcp_client_progress(const struct mcp_client *client, double progress, double total,
                         const char *text);

enum mcp_question { MCP_SAMPLING, MCP_ELICITATION };
struct mcp_ask {
	enum mcp_question question;
	const char *key;    /* distinguishes the questions of one call */
	struct span params; /* JSON */
	int64_t timeout_ms;
};
/* Asks the client, and returns the result of its response.
 *
 * In a session it sends a request and waits for the response, on a thread that may wait. In the
 * modern era it fails with m->required: the call ends, and its result names the question; the
 * client then makes the call again, with its responses. So a tool asks before it changes anything.
 * If the client has not declared that it can answer, it fails with m->missing. */
MUST_CHECK int mcp_ask(struct mcp *m, const struct mcp_ask *ask, const struct json_value **ret,
                       struct error *err);
