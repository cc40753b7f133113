/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/http.h — the HTTP/1.1 server: a route table, replies, and relays for streams.
 *
 * The loop thread reads a request's head and body. Then a worker runs the route's handler, an
 * ordinary blocking function: the caller is authorized, and query and body are parsed structs. A
 * stream never occupies a worker: the handler gives a descriptor and a translator (struct
 * relay_ops) to the reply, and the loop moves the bytes with back-pressure in both directions.
 *
 * Threads: a request and its reply belong to the worker while the handler runs and to the loop
 * afterwards. Relay callbacks run on the loop thread and must not block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "base/bytes.h"

struct http_exchange;
struct http_host;
struct json_shape;
struct loop;
struct reply;
struct route;
struct server_shares;
struct trace_span;
struct worker_pool;

/* HTTP_ANY: any other method too. */
enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_POST,
	HTTP_PUT,
	HTTP_PATCH,
	HTTP_DELETE,
	HTTP_OPTIONS,
	HTTP_ANY
};

#define REQUEST_ID_SIZE 65

const char *http_method_name(enum http_method method); /* "GET"; "ANY" for HTTP_ANY */

/* A request as the handler sees it. All pointers are borrowed from the request's arena. */
struct request {
	struct arena *arena;
	char id[REQUEST_ID_SIZE]; /* returned as X-Request-Id; part of every log line and error */
	enum http_method method;
	const char *method_name; /* "PROPFIND", when method is HTTP_ANY */
	const char *path;        /* decoded; has no "." or ".." part */
	struct span raw_path;    /* not decoded, for proxies */
	struct span raw_query;
	struct span body; /* whole, unless the route streams its body */
	const struct route *route;
	const void *query;   /* parsed by route->query, or NULL */
	void *caller;        /* set by server_options.authorize; NULL on public routes */
	const void *lent_by; /* whose access a public route used: edge/access.h; or NULL */
	void *context;       /* server_options.context */
	void *notes;         /* of on_answer and its kin; freed by on_done */
	const char *peer;    /* "127.0.0.1:5000" or "unix" */
	bool is_tls;      /* this connection uses TLS; says nothing about the client of a proxy */
	int64_t deadline; /* of the handler, monotonic ms: 60 s, slow 15 min */
	bool is_tried, is_quick, is_deferred; /* for request_may_block and request_may_wait */
	struct http_exchange *exchange;       /* used by the server */
};

/* The span of the request (trace/trace.h); NULL for a copy of a request. */
struct trace_span *request_trace(struct request *rq);
/* A header's value, NULL when absent; names compare without case. */
const char *request_header(const struct request *rq, const char *name);
/* Calls `each` for every header until it returns non-zero. */
MUST_CHECK int request_each_header(const struct request *rq,
                                   int (*each)(void *context, const char *name, const char *value,
                                               struct error *err),
                                   void *context, struct error *err);
/* The path text for ":name" (or for "*name", the rest); never NULL for a parameter of the route. */
const char *request_param(const struct request *rq, const char *name);
/* Call it before blocking, in authorize and in handlers of ROUTE_TRY routes. Returns 0 on a worker.
 * On the loop thread it fails; when the caller fails too, a worker repeats the whole call, so
 * earlier steps must have no effect. There rq->deadline has passed. */
MUST_CHECK int request_may_block(struct request *rq, struct error *err);
/* True on the loop thread; true when a worker will repeat the handler. */
bool request_is_on_loop(const struct request *rq);
bool request_is_deferred(const struct request *rq);
/* Call it in handlers of ROUTE_QUICK routes before slow work: the worker changes to the slow lane.
 * Fails when that lane has no room; then the whole call is repeated later. */
MUST_CHECK int request_may_wait(struct request *rq, struct error *err);
/* Size of the body; -1 when chunked, 0 when absent. */
int64_t request_body_size(const struct request *rq);

/* Returns 0 with the reply set, or -1 with err, which becomes {"error":{…}}. `body` is parsed by
 * route->body, or NULL. */
typedef int http_handler(struct request *rq, const void *body, struct reply *reply,
                         struct error *err);

enum route_flag {
	ROUTE_PUBLIC = 1 << 0, /* no caller needed */
	ROUTE_INLINE = 1 << 1, /* runs on the loop thread: must not block at all */
	ROUTE_SLOW = 1 << 2,   /* runs in the slow lane */
	ROUTE_STREAM_BODY =
	        1 << 3, /* the handler starts a relay that receives the body as it arrives */
	ROUTE_WEBSOCKET = 1 << 4, /* the handler answers by reply_websocket */
	ROUTE_RAW_BODY = 1 << 5,  /* any content type; rq->body is unparsed */
	ROUTE_HIDDEN = 1 << 6,    /* not in the OpenAPI document */
	ROUTE_TRY = 1 << 7,       /* runs on the loop thread until request_may_block */
	ROUTE_QUICK = 1 << 8,     /* runs in the fast lane until request_may_wait */
	ROUTE_LONG = 1 << 9,      /* may wait for minutes; runs on server_options.waiters */
	ROUTE_NEEDS_BODY =
	        1 << 10, /* the document marks the body as required although no member is */
	ROUTE_PROGRESS = 1 << 11, /* a client may receive progress events: parked.h */
	ROUTE_CANCEL = 1 << 12,   /* may be cancelled when its client hangs up, like GET and HEAD */
	ROUTE_LAST = 1 << 13,     /* answered while the server drains: drain.h */
	ROUTE_STANDING = 1 << 14, /* its stream lasts until the client leaves; a drain does not wait
	                             for it: drain.h */
	ROUTE_FILES = 1 << 15,    /* runs in the files lane instead of the slow lane */
	ROUTE_PLAIN = 1 << 16,    /* its answer holds a lasting secret, such as a CSRF token, and is
	                             never compressed: its size would tell about the secret (BREACH) */
};

/* A row describes an operation, also for the OpenAPI document. A NULL path ends the table. */
struct route {
	enum http_method method;
	const char *path; /* "/v1/projects/:project"; a last part "*rest" takes the rest */
	unsigned scope;   /* interpreted by authorize */
	unsigned flags;
	size_t body_max; /* 0 = server_options.body_max */
	const struct json_shape *query, *body, *answer;
	const struct json_shape *also; /* another answer, with 200, to a query that asks for it */
	int status;                    /* on success, for the reference; 0 = 200 */
	http_handler *handle;
	const char *tag, *summary;
};
void reply_status(struct reply *reply, int status);
/* Asserts no CR, LF or NUL. */
void reply_header(struct reply *reply, const char *name, const char *value);
void reply_json(struct reply *reply, const struct json_shape *shape, const void *value);
void reply_text(struct reply *reply, const char *content_type, struct span text);
/* The body buffer of a reply, for bodies that no shape writes. */
struct buf *reply_buf(struct reply *reply, const char *content_type);

/* Replaces the path prefix `from`, made of whole parts, by `to`. */
struct path_alias {
	const char *from, *to; /* `to` is no longer than `from` */
};

struct http_failure;
struct http_server;
struct server_options {
	struct loop *loop;
	struct worker_pool *workers;
	struct worker_pool *waiters; /* runs ROUTE_LONG routes, see shares.h; NULL: workers does */
	const struct route *const *routes; /* NULL-terminated list of tables */
	const struct path_alias *aliases;  /* first match applies; ends with NULLs; may be NULL */
	void *context;
	/* Selects the routes by the head, on the loop. NULL: the server's routes apply. */
	struct http_host (*find_host)(void *context, const struct request *rq);
	const char *(*allow_origin)(void *context, const char *origin); /* see http/server/cors.h */
	/* Finds the caller and sets rq->caller, before query and body are parsed. Called again
	 * before the handler of a parked request runs again. NULL: every request is allowed. */
	int (*authorize)(struct request *rq, const struct route *route, struct error *err);
	/* Replies with the answer of server error.node, or returns -1; on a worker. May be NULL. */
	int (*forward)(struct request *rq, struct reply *reply, struct error *err);
	/* Writes a failure that is not {"error":{…}}; false: the usual form. The request may be
	 * only partly read. Any thread. May be NULL. */
	bool (*write_failure)(const struct request *rq, struct http_failure *failure,
	                      struct buf *out);
	/* Called around each run of a route's handler, on its thread. May be NULL. */
	void (*on_handle)(struct request *rq, bool begins);
	/* Called on the loop before the first byte of the reply is sent; of a stream of progress,
	 * before its last event. Not called for a client that has left. May be NULL. */
	void (*on_answer)(struct request *rq, int status);
	/* Called after the reply is complete, on the loop; releases rq->caller. May be NULL. */
	void (*on_done)(struct request *rq, int status, int64_t took_us);
	const struct server_shares *shares; /* see shares.h; copied; NULL: no shares */
	size_t head_max;                    /* bytes; 0 = 32 KiB */
	size_t body_max;                    /* bytes; 0 = 1 MiB */
	unsigned connections_max;           /* 0 = 8192 */
	int64_t head_timeout_ms;            /* time for a whole head; 0 = 10 s */
	int64_t body_timeout_ms;            /* time without a byte of the body; 0 = 60 s */
	int64_t idle_timeout_ms;            /* time between requests; 0 = 75 s */
	int64_t write_timeout_ms;           /* time without the client receiving a byte; 0 = 60 s */
	int64_t fast_deadline_ms, slow_deadline_ms; /* of handlers; 0 = 60 s, 15 min */
};
MUST_CHECK int server_open(const struct server_options *options, struct http_server **ret,
                           struct error *err);
/* Takes over a listening socket. */
MUST_CHECK int server_listen_fd(struct http_server *server, int fd, struct error *err);
/* Like server_listen_fd for TLS connections: see http/tls/tls.h. */
MUST_CHECK int server_listen_tls_fd(struct http_server *server, int fd, struct error *err);
/* Cuts open connections and waits for running handlers. NULL is fine. Close it before workers and
 * loop. */
void server_close(struct http_server *server);

struct server_counts {
	uint64_t connections_open, connections_total, requests_total, relays_open;
	uint64_t responses[6]; /* by first digit of the status */
	uint64_t bytes_in, bytes_out, refused_by_table, refused_by_project, closed_idle;
};
struct server_counts server_counts_get(const struct http_server *server); /* loop thread */
