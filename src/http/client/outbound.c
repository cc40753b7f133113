/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/outbound.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "http/client/curl.h"
#include "http/client/host_lookup.h"

#define CONNECT_MS 5000L
/* Of an answer; more than this is not waited for. */
#define ANSWER_MAX ((size_t)64 * 1024)

/* "192.0.2.1" or "[2001:db8::1]"; false for names. */
static bool parse_address(const char *host, struct host_address *ret)
{
	bool is_v6 = host[0] == '[';
	char plain[INET6_ADDRSTRLEN];

	(void)snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(host + is_v6, "]"), host + is_v6);
	return host_address_parse(plain, ret);
}

/* "localhost" and the names below it, with or without a last dot. */
static bool is_local_name(const char *host)
{
	struct span name = span_of(host);

	name.size -= name.size > 0 && host[name.size - 1] == '.';
	return span_is_word(name, "localhost") || span_ends_with_word(name, SPAN(".localhost"));
}

static int check_host(const char *url, const char *host, struct error *err)
{
	struct host_address address;

	if ((!parse_address(host, &address) ||
	     address_is_public((const struct sockaddr *)&address.at)) &&
	    !is_local_name(host))
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "'%.100s' is an address of the server's own network", url);
	return FAIL_HINT(err, "the option webhook_allow_private lets the server call such");
}

static int check_parts(CURLU *parts, const char *url, bool allow_private, struct error *err)
{
	char *scheme = NULL, *host = NULL, *user = NULL;
	int result = 0;

	if (curl_url_set(parts, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		result = FAIL(err, ERROR_INVALID,
		              "'%.100s' is no URL such as https://example.org/atoll", url);
	else if (curl_url_get(parts, CURLUPART_USER, &user, 0) == CURLUE_OK)
		result = FAIL(err, ERROR_INVALID, "a URL with a user or a password is refused");
	else if (!allow_private)
		result = check_host(url, host, err);
	curl_free(scheme);
	curl_free(host);
	curl_free(user);
	return result;
}

int outbound_url_check(const char *url, bool allow_private, struct error *err)
{
	CURLU *parts;
	int result;

	if (strlen(url) > OUTBOUND_URL_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "a URL has at most %d bytes", OUTBOUND_URL_MAX);
	if (client_check_text("URL", url, err) < 0)
		return -1;
	if (strpbrk(url, " #"))
		return FAIL(err, ERROR_INVALID, "a URL holds neither a blank nor a '#' here");
	parts = curl_url();
	if (!parts)
		abort();
	result = check_parts(parts, url, allow_private, err);
	curl_url_cleanup(parts);
	return result;
}

struct outbound_call {
	const struct outbound_post *post;
	size_t answer_max;
	size_t answered; /* bytes of the answer's body */
	bool refused;    /* an address was not a public one */
	bool cut;        /* the answer was long enough */
	char detail[CURL_ERROR_SIZE];
};

/* The address is the one that will be connected to. */
static curl_socket_t open_socket(void *context, UNUSED curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
	struct outbound_call *call = context;
	int fd;

	if (!call->post->allow_private && !address_is_public(&address->addr)) {
		call->refused = true;
		return CURL_SOCKET_BAD;
	}
	fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static size_t on_answer(char *data, UNUSED size_t one, size_t size, void *context)
{
	struct outbound_call *call = context;

	call->answered += size;
	if (call->post->answer)
		buf_add(call->post->answer, data, size);
	call->cut = call->answered > call->answer_max;
	return call->cut ? CURL_WRITEFUNC_ERROR : size;
}

static int on_progress(void *context, UNUSED curl_off_t receive_all, UNUSED curl_off_t received,
                       UNUSED curl_off_t send_all, UNUSED curl_off_t sent)
{
	const struct outbound_call *call = context;

	return call->post->cancelled && atomic_load(call->post->cancelled);
}

static void set_options(CURL *curl, struct outbound_call *call, struct curl_slist *headers)
{
	const struct outbound_post *post = call->post;

	curl_easy_setopt(curl, CURLOPT_URL, post->url);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->body.size);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body.size > 0 ? post->body.data : "");
	if (post->method)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, post->method);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "Atoll/" ATOLL_VERSION);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* also none of the environment's */
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)post->timeout_ms);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, call);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, call);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, call->detail);
}

static struct curl_slist *make_headers(const struct outbound_post *post)
{
	/* No waiting for a "100 Continue": bodies are small. */
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:");

	for (const char *const *line = post->headers; headers && line && *line; line++)
		headers = curl_slist_append(headers, *line);
	if (!headers)
		abort();
	return headers;
}

int outbound_post(const struct outbound_post *post, int *ret_status, struct error *err)
{
	struct outbound_call call = {.post = post, .answer_max = ANSWER_MAX};
	struct curl_slist *headers;
	CURL *curl;
	CURLcode code;
	curl_off_t retry_after = 0;
	long status = 0;

	if (outbound_url_check(post->url, post->allow_private, err) < 0)
		return -1;
	headers = make_headers(post);
	curl = client_curl_new();
	set_options(curl, &call, headers);
	code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	if (call.refused && code != CURLE_OK && !status)
		return FAIL(err, ERROR_FORBIDDEN,
		            "its name stands for an address of the server's own network");
	if (code != CURLE_OK && !call.cut)
		return client_fail(code, "POST", call.detail, err);
	*ret_status = (int)status;
	if (post->ret_retry_after_s)
		*post->ret_retry_after_s = retry_after;
	return 0;
}

static void copy_headers(CURL *curl, const struct outbound_header *headers)
{
	for (const struct outbound_header *h = headers; h && h->name; h++) {
		struct curl_header *found = NULL;
		bool is_there =
		        curl_easy_header(curl, h->name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK;

		(void)snprintf(h->value, h->size, "%s", is_there ? found->value : "");
	}
}

int outbound_get(const struct outbound_get *get, int *ret_status, struct error *err)
{
	const struct outbound_post post = {.url = get->url,
	                                   .headers = get->headers,
	                                   .timeout_ms = get->timeout_ms,
	                                   .allow_private = get->allow_private,
	                                   .answer = get->answer};
	struct outbound_call call = {.post = &post, .answer_max = get->answer->size_max};
	struct curl_slist *headers;
	long status = 0;

	if (outbound_url_check(get->url, get->allow_private, err) < 0)
		return -1;
	headers = make_headers(&post);
	CURL *curl = client_curl_new();
	set_options(curl, &call, headers);
	curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
	CURLcode code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	copy_headers(curl, get->answer_headers);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	if (call.refused && code != CURLE_OK && !status)
		return FAIL(err, ERROR_FORBIDDEN,
		            "its name stands for an address of the server's own network");
	if (code != CURLE_OK && !call.cut)
		return client_fail(code, "GET", call.detail, err);
	*ret_status = (int)status;
	return 0;
}
