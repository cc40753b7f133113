/* SPDX-License-Identifier: Apache-2.0 */
/* http/http.h — the HTTP/1.1 server: a route table, replies, and relays for all that streams.
 *
 * The loop thread reads a request's head and its body up to the route's limit, then a worker runs
 * the route's handler, an ordinary blocking function: parse, one call, answer. Before the handler
 * runs the caller is known, its scope is checked, query and body are typed structs whose bounds
 * hold. A stream never holds a worker: the handler hands a descriptor and a translator (struct
 * relay_ops) to the reply, and the loop moves the bytes with back-pressure both ways.
 *
 * Threads: a request and its reply belong to the worker while the handler runs and to the loop
 * afterwards. Relay callbacks run on the loop thread and must not block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"
#include "http/host.h"
#include "json/json.h"
#include "loop/loop.h"
#include "worker/worker.h"

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

struct route;
struct reply;

#define REQUEST_ID_SIZE 65

/* What a handler sees. Everything is borrowed from the request's arena. */
struct request {
	struct arena *arena;
	char id[REQUEST_ID_SIZE]; /* returned as X-Request-Id, in every log line and error */
	enum http_method method;
	const char *method_name; /* "PROPFIND", where method can only say HTTP_ANY */
	const char *path;        /* decoded; has no "." or ".." part */
	struct span raw_path;    /* as it came, for proxies */
	struct span raw_query;
	struct span body; /* whole, unless the route streams its body */
	const struct route *route;
	const void *query; /* struct of route->query, or NULL */
	void *caller;      /* set by server_options.authorize; NULL on public routes */
	void *context;     /* server_options.context */
	const char *peer;  /* "127.0.0.1:5000" or "unix" */
	bool is_tls;       /* this very connection; a proxy before us may have been asked by it */
	int64_t deadline;  /* of the handler, monotonic ms: 60 s, slow 15 min */
	bool is_tried, is_quick, is_deferred; /* the server's own, for request_may_block, _wait */
	struct http_exchange *exchange;       /* the server's own */
};

/* A header's value, NULL when absent; names compare without case. */
const char *request_header(const struct request *rq, const char *name);
/* Calls with each header in turn, as long as that returns 0. */
MUST_CHECK int request_each_header(const struct request *rq,
                                   int (*each)(void *context, const char *name, const char *value,
                                               struct error *err),
                                   void *context, struct error *err);
/* The text that stood for ":name" (or "*name", the rest); never NULL for one of the route's. */
const char *request_param(const struct request *rq, const char *name);
/* Called before anything that may block, by authorize and by handlers of ROUTE_TRY rows. Returns 0
 * on a worker. On the loop's thread it fails, and when the caller then fails as well, all is done
 * once more on a worker: so what is done before this must not count. rq->deadline is over there,
 * for calls that wait no longer than it. */
MUST_CHECK int request_may_block(struct request *rq, struct error *err);
/* Whether the handler is tried on the loop's thread; and whether it will be run once more. */
bool request_is_on_loop(const struct request *rq);
bool request_is_deferred(const struct request *rq);
/* The same for handlers of ROUTE_QUICK rows, before what may take longer than a look into the
 * store: the worker goes over to the slow lane. Where that has no room it fails, and all is done
 * once more when it has. */
MUST_CHECK int request_may_wait(struct request *rq, struct error *err);
/* Length of a body, -1 when it is chunked, 0 when there is none. */
int64_t request_body_size(const struct request *rq);

/* Returns 0 when the reply is set, or -1 with err, which becomes {"error":{…}}. `body` is the
 * struct of route->body, or NULL. */
typedef int http_handler(struct request *rq, const void *body, struct reply *reply,
                         struct error *err);

enum route_flag {
	ROUTE_PUBLIC = 1 << 0,      /* no caller needed */
	ROUTE_INLINE = 1 << 1,      /* runs on the loop thread: must not block at all */
	ROUTE_SLOW = 1 << 2,        /* the slow lane of the workers */
	ROUTE_STREAM_BODY = 1 << 3, /* the handler starts a relay that takes the body as it comes */
	ROUTE_WEBSOCKET = 1 << 4,   /* the handler answers by reply_websocket */
	ROUTE_RAW_BODY = 1 << 5,    /* any content type; rq->body as it came */
	ROUTE_HIDDEN = 1 << 6,      /* not in the OpenAPI document */
	ROUTE_TRY = 1 << 7,         /* on the loop thread until request_may_block, see there */
	ROUTE_QUICK = 1 << 8,       /* on the fast lane until request_may_wait, see there */
	ROUTE_LONG = 1 << 9,        /* waits for minutes: by server_options.waiters */
	ROUTE_NEEDS_BODY = 1 << 10, /* for the document: though no member is required */
	ROUTE_PROGRESS = 1 << 11,   /* a client may listen to what it waits for: parked.h */
	ROUTE_CANCEL = 1 << 12,     /* may end when its client hangs up, as GET and HEAD may */
	ROUTE_LAST = 1 << 13,       /* answered while the server drains: drain.h */
	ROUTE_STANDING = 1 << 14,   /* its stream lasts until its client leaves: the same */
	ROUTE_FILES = 1 << 15,      /* work on files: the lane for it in place of the slow one */
};

/* One row is all that is known about an operation, for the document, too. A NULL path ends. */
struct route {
	enum http_method method;
	const char *path; /* "/v1/projects/:project"; a last part "*rest" takes the rest */
	unsigned scope;   /* meaning is authorize's */
	unsigned flags;
	size_t body_max; /* 0 = server_options.body_max */
	const struct json_shape *query, *body, *answer;
	int status; /* on success, for the reference; 0 = 200 */
	http_handler *handle;
	const char *tag, *summary;
};
/* ---- replies, on the worker ---- */

void reply_status(struct reply *reply, int status);
/* Refuses (assert) CR, LF and NUL, so that no header can be injected. */
void reply_header(struct reply *reply, const char *name, const char *value);
void reply_json(struct reply *reply, const struct json_shape *shape, const void *value);
/* Takes the text as it is. */
void reply_text(struct reply *reply, const char *content_type, struct span text);
/* The buffer of a JSON reply that is written by hand. */
struct buf *reply_buf(struct reply *reply, const char *content_type);

/* ---- the server ---- */
/* Paths that begin with `from`, as whole parts, are taken for `to` and the rest. */
struct path_alias {
	const char *from, *to; /* `to` is no longer than `from` */
};

struct http_failure {
	int status;
	const char *code, *message; /* stable, for machines; for people */
	const char *hint;           /* NULL or empty: none */
	const struct error *err;    /* NULL: refused before there was a handler */
};

struct http_server;
struct server_options {
	struct loop *loop;
	struct worker_pool *workers;
	struct worker_pool *waiters;       /* of ROUTE_LONG, see shares.h; NULL: the workers */
	const struct route *const *routes; /* NULL-terminated list of tables */
	const struct path_alias *aliases;  /* the first that fits; ends with NULLs; may be NULL */
	void *context;
	/* On the loop, when nothing but the head is known; NULL: all are the routes'. */
	struct http_host (*find_host)(void *context, const struct request *rq);
	const char *(*allow_origin)(void *context, const char *origin); /* see http/cors.h */
	/* Finds the caller; runs where the handler runs, before query and body are parsed. Sets
	 * rq->caller. A NULL authorize lets everybody in. */
	int (*authorize)(struct request *rq, const struct route *route, struct error *err);
	/* A reply of the server that error.node names, or -1; on a worker. May be NULL. */
	int (*forward)(struct request *rq, struct reply *reply, struct error *err);
	/* The body of a failure where it is not {"error":{…}}, and its status; false where it is.
	 * Of the request only what was read so far is set. Any thread. May be NULL. */
	bool (*write_failure)(const struct request *rq, struct http_failure *failure,
	                      struct buf *out);
	/* After the reply is complete, on the loop; releases rq->caller, counts. May be NULL. */
	void (*on_done)(struct request *rq, int status, int64_t took_us);
	const struct server_shares *shares; /* see shares.h; copied; NULL: nothing is shared */
	size_t head_max;                    /* bytes; 0 = 32 KiB */
	size_t body_max;                    /* bytes; 0 = 1 MiB */
	unsigned connections_max;           /* 0 = 8192 */
	int64_t head_timeout_ms;            /* 0 = 10 s: a whole head within it */
	int64_t body_timeout_ms;            /* 0 = 60 s without a byte of the body */
	int64_t idle_timeout_ms;            /* 0 = 75 s between requests */
	int64_t write_timeout_ms;           /* 0 = 60 s without the client taking a byte */
	int64_t fast_deadline_ms, slow_deadline_ms; /* of handlers; 0 = 60 s, 15 min */
};
MUST_CHECK int server_open(const struct server_options *options, struct http_server **ret,
                           struct error *err);
/* "127.0.0.1:8080", "[::1]:0" or "unix:/path" (mode 0600). ret_port may be NULL. */
MUST_CHECK int server_listen(struct http_server *server, const char *address, uint16_t *ret_port,
                             struct error *err);
/* A listening socket that somebody else made. The server owns it. */
MUST_CHECK int server_listen_fd(struct http_server *server, int fd, struct error *err);
/* For connections that begin with a handshake: see http/tls.h. */
MUST_CHECK int server_listen_tls_fd(struct http_server *server, int fd, struct error *err);
/* Cuts what is open, waits for handlers that run. NULL is fine. Workers and loop close after it. */
void server_close(struct http_server *server);

struct server_counts {
	uint64_t connections_open, connections_total, requests_total, relays_open;
	uint64_t responses[6]; /* by first digit of the status */
	uint64_t bytes_in, bytes_out, refused_by_table, refused_by_project, closed_idle;
};
struct server_counts server_counts_get(const struct http_server *server); /* loop thread */

/* The error body; also used by relays and tests. */
void http_write_error(struct buf *out, const struct error *err, const char *request_id);
