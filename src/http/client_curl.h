/* SPDX-License-Identifier: Apache-2.0 */
/* http/client_curl.h — what requests and WebSockets share on the client's side. Private to the
 * client's files, which alone know libcurl. */
#pragma once

#include <curl/curl.h>

#include "base/arena.h"
#include "base/attribute.h"
#include "base/error.h"
#include "base/span.h"
#include "http/client.h"

#define CLIENT_CONNECT_MS 30000

/* A handle of the process's libcurl. Aborts without memory. */
CURL *client_curl_new(void);
/* All three refuse what would break out of a request line or a header. */
MUST_CHECK int client_check_options(const struct http_client_options *options, struct error *err);
MUST_CHECK int client_check_text(const char *what, const char *text, struct error *err);
MUST_CHECK int client_check_path(const char *path, struct error *err);
/* Copies; a base URL that was NULL is there, and ends without a slash. */
struct http_client_options client_copy_options(struct arena *a,
                                               const struct http_client_options *options);
/* Where and how to connect: base URL and path, the socket, proxies, protocols. */
void client_set_target(CURL *curl, const struct http_client_options *options, const char *path);
/* Turns a failed transfer into err; `detail` is libcurl's text for it, may be empty. */
MUST_CHECK int client_fail(CURLcode code, const char *what, const char *detail, struct error *err);
/* True when an answer of that status is an error with a body of ours, which then fills err. */
bool client_error_read(int status, struct span body, struct error *err);
