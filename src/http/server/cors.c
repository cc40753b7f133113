/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/cors.h"

#include <string.h>

#include "http/server/exchange.h"
#include "http/server/http.h"
#include "http/server/reply.h"
#include "http/server/server_state.h"

#define SHELL_QUEUE_MAX 2048
/* Browsers cache an answer for at most two hours. */
#define MAX_AGE "7200"
#define METHODS "GET, HEAD, POST, PUT, PATCH, DELETE"

void cors_begin(struct http_exchange *ex)
{
	const struct server_options *options = &ex->server->options;
	const char *origin = options->allow_origin ? head_find(&ex->head, "Origin") : NULL;

	ex->origin = origin ? options->allow_origin(options->context, origin) : NULL;
}

/* True for a comma-separated list of header names. */
static bool are_names(const char *text)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                              "0123456789!#$%&'*+-.^_`|~, ";
	size_t size = strlen(text);

	return size > 0 && size <= SHELL_QUEUE_MAX && strspn(text, allowed) == size;
}

/* Allows all requested headers: header names are not secret, and clients have many of their own. */
bool cors_answer_preflight(struct http_exchange *ex)
{
	const char *asked = head_find(&ex->head, "Access-Control-Request-Headers");
	struct buf *out = &ex->reply.headers;

	if (!ex->origin || ex->request.method != HTTP_OPTIONS ||
	    !head_find(&ex->head, "Access-Control-Request-Method"))
		return false;
	buf_add_text(out, "Access-Control-Allow-Methods: " METHODS "\r\n"
	                  "Access-Control-Max-Age: " MAX_AGE "\r\n");
	if (asked && are_names(asked))
		reply_add_header(out, "Access-Control-Allow-Headers", asked);
	return true;
}

void cors_write(struct buf *out, const struct http_exchange *ex)
{
	if (!ex->origin)
		return;
	reply_add_header(out, "Access-Control-Allow-Origin", ex->origin);
	buf_add_text(out, "Access-Control-Expose-Headers: *\r\n");
	if (strcmp(ex->origin, "*") != 0)
		buf_add_text(out, "Vary: Origin\r\n");
}
