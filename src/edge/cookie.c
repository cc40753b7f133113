/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/cookie.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "edge/api.h"
#include "http/proxy/proxy.h"
#include "http/server/http.h"
#include "sign_in/sign_in.h"
#include "sign_in/token.h"

#define HOST_PREFIX "__Host-"

static const char *cookie_prefix(const struct request *rq)
{
	return api_is_https(rq) ? HOST_PREFIX : "";
}

struct cookie_search {
	const char *prefix, *name;
	struct span value;
	unsigned count;
};

static int find_in_header(void *context, const char *name, const char *value,
                          UNUSED struct error *err)
{
	struct cookie_search *search = context;
	struct span rest = span_of(value), cookie, found;
	bool more = rest.size > 0 && strcasecmp(name, "Cookie") == 0;

	while (more) {
		more = span_split(&rest, ';', &cookie);
		cookie = span_trim(cookie);
		if (span_split(&cookie, '=', &found) && span_starts_with(found, search->prefix) &&
		    span_equals_text(span_after(found, strlen(search->prefix)), search->name)) {
			search->value = cookie;
			search->count++;
		}
	}
	return 0;
}

static int find_cookie(const struct request *rq, const char *name, struct cookie_search *ret,
                       struct error *err)
{
	*ret = (struct cookie_search){.prefix = cookie_prefix(rq), .name = name};
	return request_each_header(rq, find_in_header, ret, err);
}

int api_cookie_read(const struct request *rq, struct sign_in_token *ret, bool *ret_found,
                    struct error *err)
{
	struct cookie_search search;

	if (find_cookie(rq, API_COOKIE, &search, err) < 0)
		return -1;
	if (search.count > 1) {
		(void)FAIL(err, ERROR_UNAUTHENTICATED, "the request has several session cookies");
		return FAIL_HINT(err, "remove the cookies of this host, and sign in again");
	}
	*ret_found = search.count == 1 && sign_in_token_parse(search.value, ret);
	return 0;
}

struct span api_cookie_value(const struct request *rq, const char *name)
{
	struct cookie_search search;
	struct error ignored;

	if (find_cookie(rq, name, &search, &ignored) < 0 || search.count != 1)
		return (struct span){NULL, 0};
	return search.value;
}

static bool is_own_origin(const struct request *rq, const char *origin)
{
	const char *host = request_header(rq, "Host"), *slashes = strstr(origin, "://");
	const char *own = api_of(rq)->config->public_url;

	if (own[0] && strcmp(origin, own) == 0)
		return true;
	/* A server that forwards a request has checked it, and may have replaced Host. No page of
	 * another origin can send this header without our consent. */
	if (request_header(rq, PROXY_HOP_HEADER))
		return true;
	return host && slashes && strcasecmp(slashes + 3, host) == 0 &&
	       strncmp(origin, api_is_https(rq) ? "https:" : "http:", api_is_https(rq) ? 6 : 5) ==
	               0;
}

static int refuse_origin(struct error *err)
{
	(void)FAIL(err, ERROR_FORBIDDEN, "the request comes from another page");
	return FAIL_HINT(err, "send Origin, or Sec-Fetch-Site: same-origin; programs use a key");
}

static bool is_own_site(const char *site)
{
	return strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

/* `is_needed`: the request must say where it comes from. */
static int check_origin(const struct request *rq, bool is_needed, struct error *err)
{
	const char *origin = request_header(rq, "Origin");
	const char *site = request_header(rq, "Sec-Fetch-Site");

	if (origin)
		return is_own_origin(rq, origin) ? 0 : refuse_origin(err);
	if (site)
		return strcmp(site, "same-origin") == 0 ? 0 : refuse_origin(err);
	return is_needed ? refuse_origin(err) : 0;
}

/* A read may come from a link on any page, as any address may, but not from an element or script
 * of another page: previews can be of the same site as this server. */
static int check_read(const struct request *rq, struct error *err)
{
	const char *site = request_header(rq, "Sec-Fetch-Site");
	const char *mode = request_header(rq, "Sec-Fetch-Mode");
	const char *origin = request_header(rq, "Origin");

	if (origin && !is_own_origin(rq, origin))
		return refuse_origin(err);
	if (!site || is_own_site(site) || (mode && strcmp(mode, "navigate") == 0))
		return 0;
	return refuse_origin(err);
}

static bool is_read(const struct request *rq)
{
	return rq->method == HTTP_GET || rq->method == HTTP_HEAD || rq->method == HTTP_OPTIONS;
}

static int check_request(const struct request *rq, const struct route *route,
                         const struct sign_in_token *token, struct error *err)
{
	const char *csrf = request_header(rq, API_CSRF_HEADER);

	if (route->flags & ROUTE_WEBSOCKET)
		return check_origin(rq, true, err);
	if (is_read(rq))
		return check_read(rq, err);
	if (check_origin(rq, true, err) < 0)
		return -1;
	if (csrf && sign_in_csrf_matches(token, span_of(csrf)))
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "the header " API_CSRF_HEADER " is %s",
	           csrf ? "not this session's" : "missing");
	return FAIL_HINT(err, "send csrf_token of GET /v1/session");
}

static int count_refusal(const struct request *rq, int result)
{
	if (result < 0)
		sign_in_count_forged(api_of(rq)->sign_in);
	return result;
}

int api_cookie_guard(const struct request *rq, const struct route *route,
                     const struct sign_in_token *token, struct error *err)
{
	return count_refusal(rq, check_request(rq, route, token, err));
}

int api_cookie_guard_sign_in(const struct request *rq, struct error *err)
{
	return count_refusal(rq, check_origin(rq, false, err));
}

void api_cookie_put(struct request *rq, struct reply *reply, const char *name, const char *value,
                    int64_t lifetime_ms)
{
	reply_header(reply, "Set-Cookie",
	             arena_format(rq->arena,
	                          "%s%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%" PRId64 "%s",
	                          cookie_prefix(rq), name, value, lifetime_ms / 1000,
	                          api_is_https(rq) ? "; Secure" : ""));
}

void api_cookie_write(struct request *rq, struct reply *reply, const struct sign_in_token *token,
                      int64_t lifetime_ms)
{
	api_cookie_put(rq, reply, API_COOKIE, token ? token->text : "", token ? lifetime_ms : 0);
	reply_header(reply, "Cache-Control", "no-store");
}

static bool is_address(const char *text)
{
	struct in6_addr address;

	return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_this_machine(const char *address)
{
	return strcmp(address, "unix") == 0 || strncmp(address, "127.", 4) == 0 ||
	       strcmp(address, "::1") == 0;
}

static const char *without_port(struct request *rq)
{
	char *text = arena_text(rq->arena, rq->peer), *port = strrchr(text, ':'), *end;

	if (port)
		*port = '\0';
	if (text[0] == '[' && (end = strchr(text, ']'))) {
		*end = '\0';
		text++;
	}
	return text;
}

const char *api_client_address(struct request *rq)
{
	const char *peer = without_port(rq), *reported = request_header(rq, "X-Forwarded-For");
	struct span rest = span_of(reported), last = rest;
	const char *address;

	if (!is_this_machine(peer))
		return peer;
	/* The proxy next to us adds the last one; those before are the client's claims. */
	while (rest.size && span_split(&rest, ',', &last))
		last = rest;
	address = arena_copy(rq->arena, span_trim(last));
	if (reported && is_address(address))
		return address;
	return strcmp(peer, "unix") == 0 ? "" : peer;
}
