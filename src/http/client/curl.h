/* SPDX-License-Identifier: Apache-2.0 */
/* http/client/curl.h — code that client requests and client WebSockets share. Only these files use
 * libcurl. */
#pragma once

#include <curl/curl.h>

#include "base/bytes.h"
#include "http/client/client.h"

#define CLIENT_CONNECT_MS 30000

/* A new libcurl handle. Aborts when memory is short. */
CURL *client_curl_new(void);
/* These three refuse bytes that would break out of a request line or a header. */
MUST_CHECK int client_check_options(const struct http_client_options *options, struct error *err);
MUST_CHECK int client_check_text(const char *what, const char *text, struct error *err);
MUST_CHECK int client_check_path(const char *path, struct error *err);
/* Copies the options. The copy's base URL is never NULL and has no slash at its end. */
struct http_client_options client_copy_options(struct arena *a,
                                               const struct http_client_options *options);
/* Sets the target: base URL and path, socket, proxies, protocols. */
void client_set_target(CURL *curl, const struct http_client_options *options, const char *path);
/* Fills err from a failed transfer; `detail` is libcurl's message, may be empty. */
MUST_CHECK int client_fail(CURLcode code, const char *what, const char *detail, struct error *err);
/* Whether a transfer failed before it had a connection. */
bool client_has_no_connection(CURL *curl, CURLcode code);
/* Fills err for such a transfer: names the server's address and gives the options' cure. */
MUST_CHECK int client_fail_connect(CURL *curl, CURLcode code,
                                   const struct http_client_options *options, const char *detail,
                                   struct error *err);
/* True when the answer is an error with Atoll's error body, which then fills err. */
bool client_error_read(int status, struct span body, struct error *err);
