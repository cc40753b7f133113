/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/curl.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"

static void start_library(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort();
}

CURL *client_curl_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	CURL *curl;

	pthread_once(&once, start_library);
	curl = curl_easy_init();
	if (!curl)
		abort();
	return curl;
}

int client_check_text(const char *what, const char *text, struct error *err)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return FAIL(err, ERROR_INVALID, "%s holds a control character", what);
	}
	return 0;
}

int client_check_path(const char *path, struct error *err)
{
	if (path[0] != '/' || strpbrk(path, " #"))
		return FAIL(err, ERROR_INVALID, "'%s' is not an escaped path", path);
	return client_check_text("path", path, err);
}

int client_check_options(const struct http_client_options *options, struct error *err)
{
	const char *url = options->base_url;

	if (url && (strpbrk(url, " @#?") ||
	            (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)))
		return FAIL(err, ERROR_INVALID,
		            "'%s' is not a server such as http://127.0.0.1:7777", url);
	if ((url && client_check_text("base URL", url, err) < 0) ||
	    (options->bearer && client_check_text("key", options->bearer, err) < 0) ||
	    (options->authorization &&
	     client_check_text("authorization", options->authorization, err) < 0))
		return -1;
	return options->user_agent ? client_check_text("user agent", options->user_agent, err) : 0;
}

struct http_client_options client_copy_options(struct arena *a,
                                               const struct http_client_options *options)
{
	struct span url = options->base_url ? span_of(options->base_url) : SPAN("http://localhost");

	while (url.size > 0 && url.data[url.size - 1] == '/')
		url.size--;
	return (struct http_client_options){
	        .base_url = arena_copy(a, url),
	        .unix_socket = options->unix_socket ? arena_text(a, options->unix_socket) : NULL,
	        .bearer = options->bearer ? arena_text(a, options->bearer) : NULL,
	        .authorization =
	                options->authorization ? arena_text(a, options->authorization) : NULL,
	        .user_agent = options->user_agent ? arena_text(a, options->user_agent) : NULL,
	        .cure = options->cure ? arena_text(a, options->cure) : NULL,
	};
}

/* Requests to this machine must not go through a proxy. */
static bool is_local(const struct http_client_options *options)
{
	static const char *const hosts[] = {"http://127.",  "http://localhost",  "http://[::1]",
	                                    "https://127.", "https://localhost", "https://[::1]"};

	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		if (strncmp(options->base_url, hosts[i], strlen(hosts[i])) == 0)
			return true;
	}
	return options->unix_socket != NULL;
}

void client_set_target(CURL *curl, const struct http_client_options *options, const char *path)
{
	AUTO(buf_done) struct buf url = BUF(1 << 20);

	buf_addf(&url, "%s%s", options->base_url, path);
	curl_easy_setopt(curl, CURLOPT_URL, buf_text(&url));
	curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, options->unix_socket);
	if (is_local(options))
		curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L); /* required in a program with threads */
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CLIENT_CONNECT_MS);
}

static enum error_code code_of(CURLcode from)
{
	static const struct {
		CURLcode from;
		enum error_code code;
	} codes[] = {
	        {CURLE_URL_MALFORMAT, ERROR_INVALID},
	        {CURLE_UNSUPPORTED_PROTOCOL, ERROR_INVALID},
	        {CURLE_OPERATION_TIMEDOUT, ERROR_TIMEOUT},
	        {CURLE_PEER_FAILED_VERIFICATION, ERROR_FORBIDDEN},
	        {CURLE_FILESIZE_EXCEEDED, ERROR_TOO_LARGE},
	};

	for (size_t i = 0; i < COUNT_OF(codes); i++) {
		if (codes[i].from == from)
			return codes[i].code;
	}
	return ERROR_UNAVAILABLE;
}

int client_fail(CURLcode code, const char *what, const char *detail, struct error *err)
{
	return FAIL(err, code_of(code), "%s: %s", what,
	            detail[0] ? detail : curl_easy_strerror(code));
}

bool client_has_no_connection(CURL *curl, CURLcode code)
{
	long request_size = 0;

	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
	    code == CURLE_COULDNT_RESOLVE_PROXY)
		return true;
	(void)curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &request_size);
	return code == CURLE_OPERATION_TIMEDOUT && request_size == 0;
}

int client_fail_connect(CURL *curl, CURLcode code, const struct http_client_options *options,
                        const char *detail, struct error *err)
{
	const char *socket = options->unix_socket;
	long reason = 0;

	(void)curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &reason);
	if (code == CURLE_COULDNT_CONNECT && reason > 0)
		detail = strerrordesc_np((int)reason);
	(void)FAIL(err, code_of(code), "cannot reach the server at %s%s: %s",
	           socket ? "unix:" : options->base_url, socket ? socket : "",
	           detail && detail[0] ? detail : curl_easy_strerror(code));
	return options->cure ? FAIL_HINT(err, "%s", options->cure) : -1;
}

/* Unknown codes, from other servers and proxies, are mapped by the status. */
static enum error_code code_of_answer(int status, const char *name)
{
	enum error_code code = error_code_parse(name);

	if (code != ERROR_SYSTEM || status >= 500)
		return code;
	for (int i = ERROR_NONE + 1; i < ERROR_CODE_COUNT; i++) {
		if (error_kind_get((enum error_code)i)->http_status == status)
			return (enum error_code)i;
	}
	return ERROR_INVALID;
}

bool client_error_read(int status, struct span body, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *root = NULL, *error;
	const char *message, *hint, *resource;
	struct error ignored;

	if (status < 400 || json_load(&arena, body, &root, &ignored) < 0)
		return false;
	error = json_get(root, "error");
	message = json_text(json_get(error, "message"), NULL);
	if (!message)
		return false;
	(void)FAIL(err, code_of_answer(status, json_text(json_get(error, "code"), "")), "%s",
	           message);
	resource = json_get_text(error, "resource", "");
	if (strlen(resource) < sizeof(err->resource))
		memcpy(err->resource, resource, strlen(resource) + 1);
	hint = json_text(json_get(error, "hint"), NULL);
	if (hint)
		error_hint(err, "%s", hint);
	return true;
}
