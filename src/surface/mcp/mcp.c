/* SPDX-License-Identifier: Apache-2.0 */
/* /mcp — the agent tools for clients of the Model Context Protocol, over streamable HTTP.
 *
 * An answer is one JSON object, or a stream for calls whose client asks for progress (calls.h).
 * Other messages of the server go to the stream of a session (updates.h). */
#include "surface/mcp/mcp.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "edge/forward.h"
#include "http/proxy/proxy.h"
#include "json/write.h"
#include "sandbox/lease.h"
#include "surface/mcp/calls.h"
#include "surface/mcp/fixtures.h"
#include "surface/mcp/origin.h"
#include "surface/mcp/routes.h"
#include "surface/mcp/sessions.h"
#include "surface/mcp/surface.h"
#include "surface/mcp/updates.h"

#define BODY_MAX ((size_t)16 << 20)
#define HOUR_MS 3600000
#define INSTRUCTIONS                                                                               \
	"Tools that work in an isolated Linux computer. Without an argument 'sandbox' they use "   \
	"one that is made for you on first use and keeps its files. Paths are relative to its "    \
	"workspace."

#define EPHEMERAL_INSTRUCTIONS                                                                     \
	"Tools that work in an isolated Linux computer. Each call gets a new one, which is "       \
	"deleted after the call: only files of the workspace stay, if there is one. Paths are "    \
	"relative to it."

struct mcp_query {
	struct tools_target target;
	const char *client, *origin;
	bool stdio;
};
#define QUERY_ROW(name_, member_, max_, ...)                                                       \
	{                                                                                          \
		.kind = JSON_TEXT, .name = (name_),                                                \
		.offset = offsetof(struct mcp_query, target.member_), .min = 1, .max = (max_),     \
		__VA_ARGS__                                                                        \
	}
static const struct json_member mcp_query_members[] = {
        QUERY_ROW("sandbox", sandbox, 128, .about = "the sandbox for tools; or"),
        QUERY_ROW("lease", lease, LEASE_KEY_MAX, .about = "the lease whose sandbox is used; or"),
        QUERY_ROW("session", session, 128, .about = "a session, as of /v1/sandbox"),
        QUERY_ROW("tenant", tenant, 128, .about = "of the session"),
        QUERY_ROW("config", config, 128,
                  .about = "a config of /accounts/me/sandboxes for a new sandbox"),
        JSON_BOOL_MEMBER(mcp_query, target.is_ephemeral, .name = "ephemeral",
                         .about = "each call makes a sandbox, which ends with it; without a "
                                  "workspace only bash is offered"),
        QUERY_ROW("workspace", workspace, 53,
                  .about = "workspace whose files the calls have; without a sandbox, lease or "
                           "session the calls are ephemeral"),
        QUERY_ROW("template", template, 128, .about = "of an ephemeral call"),
        QUERY_ROW("image", image, 512, .about = "of an ephemeral call"),
        QUERY_ROW("provider", provider, SANDBOX_NAME_MAX, .about = "of an ephemeral call"),
        QUERY_ROW("isolation", isolation, 16, .about = "of an ephemeral call"),
        QUERY_ROW("conversation", conversation, 128,
                  .about = "the conversation that owns background jobs"),
        JSON_TEXT_MEMBER(mcp_query, origin, .min = 1, .max = MCP_ORIGIN_MAX,
                         .about =
                                 "JSON: where the ends of background jobs are reported; a call may "
                                 "have it in its _meta as " MCP_ORIGIN),
        JSON_TEXT_MEMBER(
                mcp_query, client, .max = 64,
                .about = "with stdio: a name that the client chooses, with which it has a sandbox "
                         "of its own and can cancel its calls"),
        JSON_BOOL_MEMBER(mcp_query, stdio,
                         .about = "the message comes from a bridge to stdio, without headers and "
                                  "sessions; errors have the status 200"),
};
static JSON_SHAPE(mcp_query, "McpQuery", mcp_query, "The sandbox of the tools");

/* Written by hand, for the reference only. */
struct rpc_answer {
	const char *jsonrpc;
	struct span id, result, error;
};
static const struct json_member rpc_answer_members[] = {
        JSON_TEXT_MEMBER(rpc_answer, jsonrpc, .about = "2.0"),
        JSON_RAW_MEMBER(rpc_answer, id),
        JSON_RAW_MEMBER(rpc_answer, result),
        JSON_RAW_MEMBER(rpc_answer, error),
};
static JSON_SHAPE(rpc_answer, "McpAnswer", rpc_answer, "A message of JSON-RPC");

static void add_server(struct buf *out, const char *name)
{
	json_begin_object(out, name);
	json_add_text(out, "name", "atoll");
	json_add_text(out, "title", "Atoll");
	json_add_text(out, "version", ATOLL_VERSION);
	json_end_object(out);
}

static bool is_stdio(const struct mcp *m)
{
	return ((const struct mcp_query *)m->rq->query)->stdio;
}

static void add_abilities(const struct mcp *m, struct buf *out)
{
	/* The bridge to stdio passes on answers, and no streams beside them. */
	bool has_streams = !is_stdio(m);

	json_begin_object(out, "capabilities");
	/* In the modern era a request says itself what it wants to be logged. */
	if (has_streams && !m->message.is_modern) {
		json_begin_object(out, "logging");
		json_end_object(out);
	}
	json_begin_object(out, "tools");
	json_add_bool(out, "listChanged", false);
	json_end_object(out);
	json_begin_object(out, "resources");
	json_add_bool(out, "listChanged", has_streams);
	json_add_bool(out, "subscribe", has_streams);
	json_end_object(out);
	json_begin_object(out, "prompts");
	json_add_bool(out, "listChanged", false);
	json_end_object(out);
	json_begin_object(out, "completions");
	json_end_object(out);
	json_end_object(out);
	json_add_text(out, "instructions",
	              tools_are_ephemeral(&m->target) ? EPHEMERAL_INSTRUCTIONS : INSTRUCTIONS);
}

static int initialize_session(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	const char *asked = json_text(json_get(m->message.params, "protocolVersion"), NULL);
	const char *const *known = mcp_legacy_versions;

	if (!asked)
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 400, "protocolVersion is missing");
	while (*known && strcmp(*known, asked) != 0)
		known++;
	json_add_text(out, "protocolVersion", *known ? *known : MCP_LEGACY);
	add_abilities(m, out);
	add_server(out, "serverInfo");
	return 0;
}

static int answer_ping(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	(void)m;
	(void)out;
	(void)fault;
	return 0;
}

static int discover_server(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	(void)m;
	(void)fault;
	mcp_add_versions(out, "supportedVersions");
	add_abilities(m, out);
	return 0;
}

static int set_log_level(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	const char *name = json_get_text(m->message.params, "level", "");
	const char *session = request_header(m->rq, "Mcp-Session-Id");
	enum mcp_log_level level = mcp_log_level_find(name);

	(void)out;
	if (level == MCP_LOG_OFF)
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
		                  "unknown level '%.32s'; known levels: debug, info, notice, "
		                  "warning, error, critical, alert, emergency",
		                  name);
	if (session)
		mcp_sessions_set_log_level(api_of(m->rq)->mcp->sessions, session, level);
	return 0;
}

enum era { OLD = 1, NEW = 2, BOTH = OLD | NEW };
static const struct method {
	const char *name;
	unsigned eras;
	mcp_method *call;
	int64_t ttl_ms; /* how long a client may keep the result; -1: not said */
	bool waits;     /* for a sandbox: runs on a thread that may wait */
	int (*streams)(struct mcp *m, struct reply *reply, struct mcp_fault *fault); /* not call */
} methods[] = {
        {"initialize", OLD, initialize_session, -1},
        {"ping", OLD, answer_ping, -1},
        {"logging/setLevel", OLD, set_log_level, -1},
        {"server/discover", NEW, discover_server, HOUR_MS},
        {"tools/list", BOTH, mcp_tools_list, HOUR_MS / 12},
        {"tools/call", BOTH, mcp_tools_call, -1, .waits = true},
        {"prompts/list", BOTH, mcp_prompts_list, HOUR_MS},
        {"prompts/get", BOTH, mcp_prompts_get, -1},
        {"completion/complete", BOTH, mcp_complete, -1, .waits = true},
        {"resources/list", BOTH, mcp_resources_list, 0},
        {"resources/templates/list", BOTH, mcp_resource_templates, HOUR_MS},
        {"resources/subscribe", OLD, mcp_resources_subscribe, -1},
        {"resources/unsubscribe", OLD, mcp_resources_unsubscribe, -1},
        {"subscriptions/listen", NEW, .streams = mcp_listen},
        {"resources/read", BOTH, mcp_resources_read, 0, .waits = true},
};

static const struct method *method_find(const struct mcp_message *message)
{
	for (size_t i = 0; i < COUNT_OF(methods); i++)
		if (strcmp(methods[i].name, message->method) == 0 &&
		    methods[i].eras & (message->is_modern ? NEW : OLD))
			return &methods[i];
	return NULL;
}

static struct mcp_abilities read_abilities(const struct json_value *given)
{
	return (struct mcp_abilities){
	        .can_sample = json_get(given, "sampling") != NULL,
	        .can_elicit = json_get(given, "elicitation") != NULL,
	        .log_level = MCP_LOG_OFF,
	};
}

static int open_session(struct mcp *m, const struct method *method, struct reply *reply,
                        struct mcp_fault *fault)
{
	struct mcp_sessions *sessions = api_of(m->rq)->mcp->sessions;
	const char *key_id = api_key_id(m->rq);
	const char *asked = request_header(m->rq, "Mcp-Session-Id");
	char id[ID_SIZE + 1];

	if (m->message.is_modern || is_stdio(m))
		return 0;
	if (method && method->call == initialize_session) {
		const struct mcp_abilities abilities =
		        read_abilities(json_get(m->message.params, "capabilities"));

		mcp_sessions_add(sessions, key_id, &abilities, clock_monotonic_ms(), id);
		reply_header(reply, "Mcp-Session-Id", id);
		return 0;
	}
	if (!asked)
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 400,
		                  "the header Mcp-Session-Id is missing: initialize gives one");
	/* The server that passed the request on knows the session. A client that sets the header
	 * itself gains nothing: a key may use every lease of its project anyway. */
	if (request_header(m->rq, PROXY_HOP_HEADER)
	            ? !id_is_valid(asked)
	            : !mcp_sessions_use(sessions, asked, key_id, clock_monotonic_ms(),
	                                &m->abilities))
		return mcp_refuse(fault, MCP_NO_SESSION, 404, "no such session");
	if (!m->target.conversation)
		m->target.conversation = arena_text(m->rq->arena, asked);
	return 0;
}

/* Without a named sandbox the tools act in the sandbox of the session, of the bridge to stdio,
 * which is one client for as long as it runs, or of the key. */
static void choose_target(struct mcp *m)
{
	const struct mcp_query *query = m->rq->query;
	const char *session = request_header(m->rq, "Mcp-Session-Id");
	const char *owner = !m->message.is_modern && session ? session : api_key_id(m->rq);

	if (!m->target.conversation)
		m->target.conversation = arena_format(m->rq->arena, "mcp:%.64s", owner);
	if (m->target.workspace && !m->target.lease)
		m->target.is_ephemeral = true;
	if (!m->target.sandbox && !m->target.lease && !m->target.session && !m->target.is_ephemeral)
		m->target.lease =
		        arena_format(m->rq->arena, "mcp:%.64s",
		                     query->stdio && query->client ? query->client : owner);
}

int mcp_fail_elsewhere(struct mcp *m, struct error *err)
{
	char node[ERROR_NODE_MAX];

	memcpy(node, err->node, sizeof(node));
	if (node[0] && m->hop && api_hop_open(api_of(m->rq), m->rq->arena, node, m->hop, err) == 0)
		log_debug("a call is passed on", TEXT("node", node));
	return -1;
}

int mcp_refuse_error(struct mcp_fault *fault, const struct error *err)
{
	const struct error_kind *kind = error_kind_get(err->code);
	int code = kind->http_status >= 500 ? MCP_INTERNAL : MCP_INVALID_PARAMS;

	return mcp_refuse(fault, code, 200, "%s%s%s", err->text, err->hint[0] ? ": " : "",
	                  err->hint);
}

static int write_result(struct mcp *m, const struct method *method, struct buf *out,
                        struct mcp_fault *fault)
{
	int result;

	mcp_begin_answer(out, m->message.id);
	json_begin_object(out, "result");
	if (m->message.is_modern) {
		json_begin_object(out, "_meta");
		add_server(out, "io.modelcontextprotocol/serverInfo");
		json_end_object(out);
	}
	if (m->message.is_modern && method->ttl_ms >= 0) {
		json_add_whole(out, "ttlMs", method->ttl_ms);
		json_add_text(out, "cacheScope", "private");
	}
	if (!mcp_fixture_answer(m, out, fault, &result))
		result = method->call(m, out, fault);
	if (result < 0)
		return -1;
	if (m->message.is_modern)
		json_add_text(out, "resultType", m->required.size ? "input_required" : "complete");
	if (m->required.size)
		json_add_raw(out, "inputRequests", m->required);
	json_end_object(out);
	json_end_object(out);
	if (!out->overflowed)
		return 0;
	return mcp_refuse(fault, MCP_INTERNAL, 200, "the result is too large");
}

/* On a thread that may wait. The message was parsed before, so its method exists. */
static int answer_on_worker(struct mcp *m, const struct mcp_headers *headers, struct buf *out)
{
	struct mcp_fault fault;
	const struct method *method;

	if (mcp_parse(m->rq->arena, m->rq->body, headers, &m->message, &fault) == 0) {
		method = method_find(&m->message);
		assert(method);
		if (write_result(m, method, out, &fault) == 0)
			return 200;
	}
	buf_reset(out);
	mcp_write_fault(out, m->message.id, &fault);
	return headers->absent ? 200 : fault.status;
}

/* The session, or the bridge's client, that may cancel the call. A client of the modern era closes
 * the connection instead. */
static const char *owner_of(const struct mcp *m)
{
	const struct mcp_query *query = m->rq->query;
	const char *word = query->stdio           ? query->client
	                   : m->message.is_modern ? NULL
	                                          : request_header(m->rq, "Mcp-Session-Id");

	return word ? arena_format(m->rq->arena, "%s %s", api_key_id(m->rq), word) : NULL;
}

static bool takes_events(const struct request *rq)
{
	const char *accept = request_header(rq, "Accept");

	return accept && strstr(accept, "text/event-stream");
}

/* For the audit; NULL: the message calls none. */
static const char *name_tool(const struct mcp *m)
{
	return strcmp(m->message.method, "tools/call") == 0
	               ? json_get_text(m->message.params, "name", "")
	               : NULL;
}

static int begin_call(struct mcp *m, const struct mcp_headers *headers, struct reply *reply,
                      struct mcp_fault *fault)
{
	const struct mcp_call_options options = {
	        .answer = answer_on_worker,
	        .headers = headers,
	        .owner = owner_of(m),
	        .tool = name_tool(m),
	        .streams = takes_events(m->rq),
	        .ends_with_client = m->message.is_modern || headers->absent,
	};

	return mcp_call_start(m, &options, reply, fault);
}

/* Handles a cancellation. For a call that was passed on, err names the other server. */
static int handle_notification(struct mcp *m, struct error *err)
{
	const char *owner = owner_of(m);
	AUTO(buf_done) struct buf id = BUF(MCP_ID_MAX);
	char node[ERROR_NODE_MAX] = "";

	if (!owner || !m->message.method ||
	    strcmp(m->message.method, "notifications/cancelled") != 0)
		return 0;
	mcp_print_id(&id, json_get(m->message.params, "requestId"));
	if (id.size > 0)
		mcp_calls_cancel(api_of(m->rq)->mcp->calls, owner, buf_span(&id), node);
	if (!node[0])
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "the call is on node '%s'", node);
	error_elsewhere(err, node);
	return -1;
}

static int serve_message(struct mcp *m, struct reply *reply, struct mcp_fault *fault)
{
	const struct mcp_headers headers = {
	        .version = request_header(m->rq, "MCP-Protocol-Version"),
	        .method = request_header(m->rq, "Mcp-Method"),
	        .name = request_header(m->rq, "Mcp-Name"),
	        .absent = is_stdio(m),
	};
	const struct method *method;

	if (mcp_parse(m->rq->arena, m->rq->body, &headers, &m->message, fault) < 0)
		return -1;
	method = m->message.method ? method_find(&m->message) : NULL;
	if (open_session(m, method, reply, fault) < 0)
		return -1;
	if (!m->message.method && m->message.id.size > 0 && owner_of(m))
		mcp_asks_answer(api_of(m->rq)->mcp->asks, owner_of(m), m->message.id, m->rq->body);
	/* Notifications and responses have no answer. */
	if (m->message.id.size == 0 || !m->message.method) {
		reply_status(reply, 202);
		return 0;
	}
	if (!method)
		return mcp_refuse(fault, MCP_NO_METHOD, m->message.is_modern ? 404 : 200,
		                  "no method '%.100s'", m->message.method);
	if (m->message.is_modern)
		m->abilities = read_abilities(m->message.capabilities);
	if (m->message.log_level)
		m->abilities.log_level = mcp_log_level_find(m->message.log_level);
	if (method->streams && (is_stdio(m) || !takes_events(m->rq)))
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 406,
		                  "%s needs HTTP and Accept: text/event-stream", method->name);
	if (method->streams)
		return method->streams(m, reply, fault);
	choose_target(m);
	if (method->waits)
		return begin_call(m, &headers, reply, fault);
	return write_result(m, method, reply_buf(reply, "application/json"), fault);
}

static bool accepts_json(const char *accept)
{
	return !accept || strstr(accept, "application/json") || strstr(accept, "*/*") ||
	       strstr(accept, "application/*");
}

static int check_origin(struct request *rq, struct error *err)
{
	const struct mcp_origin origin = {
	        .host = request_header(rq, "Host"),
	        .origin = request_header(rq, "Origin"),
	        .listen = api_of(rq)->config->listen,
	        .hosts = api_of(rq)->config->hosts,
	        .is_unix = strcmp(rq->peer, "unix") == 0,
	};

	return mcp_origin_check(&origin, err);
}

static int check_forms(struct request *rq, struct mcp_fault *fault)
{
	const char *type = request_header(rq, "Content-Type");

	if (!type || !span_starts_with(span_of(type), "application/json"))
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 415,
		                  "Content-Type: application/json is expected");
	if (!accepts_json(request_header(rq, "Accept")))
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 406,
		                  "Accept: this server answers with application/json");
	return 0;
}

static int mcp_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct mcp_query *query = rq->query;
	struct mcp m = {.rq = rq,
	                .target = query->target,
	                .origin = query->origin,
	                .abilities = {.log_level = MCP_LOG_OFF}};
	struct mcp_fault fault;
	struct buf *out;

	(void)body;
	if (check_origin(rq, err) < 0)
		return -1;
	if (check_forms(rq, &fault) == 0 && serve_message(&m, reply, &fault) == 0)
		return m.message.id.size > 0 ? 0 : handle_notification(&m, err);
	out = reply_buf(reply, "application/json");
	buf_reset(out);
	mcp_write_fault(out, m.message.id, &fault);
	reply_status(reply, query->stdio ? 200 : fault.status);
	return 0;
}

static int mcp_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const char *session = request_header(rq, "Mcp-Session-Id");
	struct mcp_abilities ignored;

	(void)body;
	if (check_origin(rq, err) < 0)
		return -1;
	if (!session || !takes_events(rq)) {
		reply_header(reply, "Allow", "POST, DELETE");
		reply_status(reply, 405);
		return 0;
	}
	if (!mcp_sessions_use(api_of(rq)->mcp->sessions, session, api_key_id(rq),
	                      clock_monotonic_ms(), &ignored))
		return FAIL(err, ERROR_NOT_FOUND, "no such session");
	return mcp_updates_reply(rq, session, reply, err);
}

static int mcp_delete(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const char *id = request_header(rq, "Mcp-Session-Id");

	(void)body;
	if (check_origin(rq, err) < 0)
		return -1;
	if (!id)
		return FAIL(err, ERROR_INVALID, "the header Mcp-Session-Id is missing");
	if (!mcp_sessions_remove(api_of(rq)->mcp->sessions, id, api_key_id(rq)))
		return FAIL(err, ERROR_NOT_FOUND, "no such session");
	reply_status(reply, 200);
	return 0;
}

#define TAG .tag = "mcp"
const struct route mcp_routes[] = {
        {HTTP_POST, "/mcp", SCOPE_SANDBOX_READ, ROUTE_RAW_BODY, .body_max = BODY_MAX,
         .query = &mcp_query, .answer = &rpc_answer, .handle = mcp_post, TAG,
         .summary = "A message of the Model Context Protocol"},
        {HTTP_GET, "/mcp", SCOPE_SANDBOX_READ, ROUTE_STANDING, .handle = mcp_get, TAG,
         .summary = "A session's stream of changed resources; 405 without a session"},
        {HTTP_DELETE, "/mcp", SCOPE_SANDBOX_READ, .handle = mcp_delete, TAG,
         .summary = "End a session of the protocol; its sandbox ends when it is idle"},
        {.path = NULL},
};

void mcp_state_open(struct api *api)
{
	api->mcp = memory_new(sizeof(*api->mcp));
	api->mcp->sessions = mcp_sessions_new();
	api->mcp->calls = mcp_calls_new();
	api->mcp->asks = mcp_asks_new();
}

void mcp_cancel_calls(struct api *api)
{
	if (api->mcp)
		mcp_calls_cancel_all(api->mcp->calls);
}

void mcp_state_close(struct api *api)
{
	if (!api->mcp)
		return;
	mcp_sessions_free(api->mcp->sessions);
	mcp_calls_free(api->mcp->calls);
	mcp_asks_free(api->mcp->asks);
	free(api->mcp);
	api->mcp = NULL;
}
