/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/failure.h — the body of a failed request. */
#pragma once

struct buf;
struct error;
struct request;

struct http_failure {
	int status;
	const char *code, *message; /* code: stable, for machines; message: for people */
	const char *hint;           /* NULL or empty: none */
	const struct error *err;    /* NULL: refused before the handler ran */
};

/* Resets `out` and writes the body in the form of the request's surface
 * (server_options.write_failure, which may change the status), else as {"error":{…}}. */
void request_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);
