/* SPDX-License-Identifier: Apache-2.0 */
/* http/client/client.h — blocking HTTP requests (libcurl) for the CLI and for workers. Never call
 * it on the loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct http_client; /* one per thread; keeps connections alive */

struct http_client_options {
	const char *base_url;      /* "http://127.0.0.1:8080"; NULL is fine with unix_socket */
	const char *unix_socket;   /* socket path to connect to, or NULL */
	const char *bearer;        /* the API key, or NULL */
	const char *authorization; /* the value of that header instead, or NULL */
	const char *user_agent;
	const char *cure; /* hint of the error that no connection can be made, or NULL */
};
MUST_CHECK int http_client_open(const struct http_client_options *options, struct http_client **ret,
                                struct error *err);
void http_client_close(struct http_client *client);

struct http_call {
	const char *method, *path;  /* the path holds the query, already escaped */
	const char *content_type;   /* of the body; NULL = application/json */
	const char *accept;         /* NULL = anything */
	const char *project;        /* to act in, for an admin; NULL = the key's own */
	const char *const *headers; /* further ones, "Name: value", NULL-terminated; or NULL */
	struct span body;
	int body_fd; /* streamed instead of body when has_body_fd */
	bool has_body_fd;
	int64_t body_fd_size; /* -1 = chunked */
	int64_t timeout_ms;   /* 0 = 30 s to connect, no limit after */
	bool keeps_errors;    /* return {"error":…} as an answer instead of as err */
	/* Called with each piece of a successful body; return false to stop, which counts as
	 * success. NULL = collect the body in the answer. */
	bool (*on_body)(void *context, struct span piece);
	void (*on_progress)(void *context, int64_t sent, int64_t received);
	void *context;
};
struct http_answer {
	int status;
	bool is_new_connection; /* no kept connection was used */
	struct buf body;        /* up to 64 MiB; buf_done by the caller */
	char content_type[128];
	char request_id[64];
};
/* Returns 0 when an answer arrived, whatever its status; but an {"error":…} body with a status of
 * 400 or more fills err and returns -1. *ret is untouched on failure. */
MUST_CHECK int http_client_call(struct http_client *client, const struct http_call *call,
                                struct http_answer *ret, struct error *err);
/* Percent-escapes one path part or query value. */
void http_escape(struct buf *out, const char *text);

/* A client WebSocket on a blocking descriptor, for `atoll shell`. */
struct http_websocket;
MUST_CHECK int http_websocket_open(const struct http_client_options *options, const char *path,
                                   struct http_websocket **ret, struct error *err);
/* The descriptor to poll for reading. Bytes that came with the server's handshake are not visible
 * to poll: call http_websocket_receive before the first wait. */
int http_websocket_fd(const struct http_websocket *ws);
MUST_CHECK int http_websocket_send(struct http_websocket *ws, bool text, struct span message,
                                   struct error *err);
/* Reads without waiting; calls on_message for each whole message. Returns 1 = open, 0 = closed by
 * the peer, -1 = connection lost. */
MUST_CHECK int http_websocket_receive(struct http_websocket *ws,
                                      void (*on_message)(void *context, bool text,
                                                         struct span message),
                                      void *context, struct error *err);
void http_websocket_close(struct http_websocket *ws);
