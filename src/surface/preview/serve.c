/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/preview/serve.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "config/config.h"
#include "edge/api.h"
#include "edge/hooks.h"
#include "edge/target.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/preview.h"
#include "http/message/fault.h"
#include "http/proxy/proxy.h"
#include "http/server/relay.h"
#include "http/server/shares.h"
#include "json/json.h"
#include "provider/dial.h"
#include "store/sandbox_record.h"
#include "surface/preview/surface.h"

#define DIAL_QUICK_MS 300
#define DIAL_MS 3000
#define IDLE_MS ((int64_t)3600 * 1000)
#define PLACE_SIZE (ID_SIZE + 8)

/* A proxied request and its reply; lives as long as the relay. */
struct preview_exchange {
	struct preview_stream stream;
	struct fleet_hold hold;
	struct api *api;
	bool wants_page;
};

static void exchange_free(struct preview_exchange *s)
{
	fleet_unhold(&s->hold);
	free(s);
}

static void on_start(void *state, struct relay *relay)
{
	struct preview_exchange *s = state;
	struct error err;

	s->stream.relay = relay;
	if (preview_live_add(s->api->preview->live, &s->stream))
		return;
	error_set(&err, ERROR_LIMIT, 0, HERE, "this sandbox has too many requests at once");
	relay_fail(relay, &err);
}

/* Bytes of the client resume a sandbox that was paused during the exchange. */
static void on_client(void *state)
{
	struct preview_exchange *s = state;

	fleet_wake(&s->hold);
}

static void fail_exchange(void *state, struct relay *relay, int status, const struct error *err)
{
	struct preview_exchange *s = state;
	AUTO(buf_done) struct buf out = BUF((size_t)64 * 1024);

	relay_begin_header(relay, "Cache-Control", "no-store");
	if (s->wants_page) {
		preview_write_page(&out, err, false);
		relay_answer(relay, status, "text/html; charset=utf-8", buf_span(&out));
	} else {
		http_write_error(&out, err, relay_request_id(relay));
		relay_answer(relay, status, "application/json", buf_span(&out));
	}
}

static void release_exchange(void *state)
{
	struct preview_exchange *s = state;

	preview_live_remove(s->api->preview->live, &s->stream);
	exchange_free(s);
}

static const struct proxy_ops exchange_ops = {.fail = fail_exchange,
                                              .on_start = on_start,
                                              .on_client = on_client,
                                              .release = release_exchange};

/* Answers a person or a program instead of the preview. */
int preview_refuse(struct request *rq, struct reply *reply, const struct error *err)
{
	bool is_refused = err->sys_errno == ECONNREFUSED, retries = preview_may_retry(err);
	int status = is_refused ? 502 : error_kind_get(err->code)->http_status;

	reply_status(reply, status);
	reply_header(reply, "Cache-Control", "no-store");
	if (retries)
		reply_header(reply, "Retry-After", "2");
	if (!request_wants_page(rq)) {
		http_write_error(reply_buf(reply, "application/json"), err, rq->id);
		return 0;
	}
	reply_header(reply, "Content-Security-Policy",
	             "default-src 'none'; style-src 'unsafe-inline'");
	preview_write_page(reply_buf(reply, "text/html; charset=utf-8"), err, retries);
	return 0;
}

static int check_view(struct request *rq, const struct preview_view *view,
                      const struct sandbox_record *r, struct error *err)
{
	if (view->is_trusted)
		return 0;
	if (view->is_traffic)
		return fleet_access_port(api_of(rq)->fleet, r, view->traffic_token, err);
	if (view->grant && preview_grant_check(rq, view->grant, r, err) < 0)
		return -1;
	return fleet_preview_check(api_of(rq)->fleet, rq->arena, r, view->port, err);
}

/* A sandbox that is known to run needs no worker. */
static int hold_sandbox(struct request *rq, const struct preview_view *view,
                        struct sandbox_record *ret, struct fleet_hold *ret_hold, struct error *err)
{
	const struct fleet_ref ref = {view->project_id, view->id_or_name, view->use};
	struct fleet *fleet = api_of(rq)->fleet;
	const struct api_target target = {.record = ret};
	const char **ignored;

	if ((view->is_traffic || view->is_trusted || fleet_preview_is_listed(fleet, view->port)) &&
	    fleet_hold_warm(fleet, rq->arena, &ref, ret, ret_hold))
		return check_view(rq, view, ret, err);
	/* A request that is refused must not start the sandbox, so the view is checked before the
	 * hold. */
	if (request_may_wait(rq, err) < 0 || fleet_find(fleet, rq->arena, &ref, ret, err) < 0 ||
	    check_view(rq, view, ret, err) < 0 ||
	    fleet_hold(fleet, rq->arena, &ref, ret, ret_hold, err) < 0 ||
	    check_view(rq, view, ret, err) < 0 || api_may_call(rq, ret, ret_hold, err) < 0)
		return -1;
	/* Loads the cache, so that the next request is quick. */
	return api_target_env(rq, &target, NULL, &ignored, err);
}

static int dial_within(const struct fleet_hold *hold, uint16_t port, int64_t ms, int *ret_fd,
                       struct error *err)
{
	const struct dial dial = {.id = hold->id, .port = port, .deadline = deadline_after(ms)};

	return compute_dial(hold->provider, &dial, ret_fd, err);
}

/* A loopback server accepts at once or is stuck. Requests that wait for a stuck server may not
 * occupy so many workers that none is left for others. */
static int dial_limited(struct request *rq, const struct fleet_hold *hold, uint16_t port,
                        int *ret_fd, struct error *err)
{
	struct api *api = api_of(rq);
	unsigned most = (unsigned)api->config->workers / 4 + 1;
	int result = dial_within(hold, port, DIAL_QUICK_MS, ret_fd, err);

	if (result == 0 || err->code != ERROR_TIMEOUT)
		return result;
	if (atomic_fetch_add(&api->preview->dials, 1) >= most)
		(void)FAIL(err, ERROR_UNAVAILABLE, "too many preview connections are in progress");
	else
		result = dial_within(hold, port, DIAL_MS, ret_fd, err);
	atomic_fetch_sub(&api->preview->dials, 1);
	return result;
}

/* On the loop's thread from the pool, otherwise by a worker. */
static int connect_port(struct request *rq, const struct sandbox_record *r,
                        const struct fleet_hold *hold, struct proxy_options *options,
                        struct error *err)
{
	const struct request_sandbox sandbox = {r->project_id, r->id};

	if (request_is_on_loop(rq)) {
		options->upstream_fd = proxy_pool_take(options->pool, options->place);
		options->is_reused = options->upstream_fd >= 0;
		if (options->is_reused)
			return 0;
	}
	if (request_may_wait(rq, err) < 0 || request_may_call(rq, &sandbox, err) < 0)
		return -1;
	return dial_limited(rq, hold, (uint16_t)options->port, &options->upstream_fd, err);
}

/* A key of this server must not reach the server in the sandbox; another key must. */
static const char *const *withheld_headers(const struct request *rq)
{
	static const char *const ours[] = {"X-Atoll-Project",
	                                   "Atoll-Run",
	                                   PROXY_HOP_HEADER,
	                                   "X-Daytona-Preview-Token",
	                                   "E2b-Sandbox-Id",
	                                   "E2b-Sandbox-Port",
	                                   "E2b-Traffic-Access-Token",
	                                   "X-Access-Token",
	                                   "X-API-Key",
	                                   "Authorization",
	                                   NULL};
	static const char *const but_keys[] = {
	        PROXY_HOP_HEADER,           "X-Atoll-Project", "Atoll-Run",
	        "X-Daytona-Preview-Token",  "E2b-Sandbox-Id",  "E2b-Sandbox-Port",
	        "E2b-Traffic-Access-Token", "X-Access-Token",  NULL};
	struct span key = account_bearer(request_header(rq, "Authorization"),
	                                 request_header(rq, "X-API-Key"));
	struct account_key parsed;
	struct error ignored;

	return rq->caller || account_key_parse(key, &parsed, &ignored) == 0 ? ours : but_keys;
}

static struct span make_target(struct request *rq, const struct preview_view *view)
{
	return span_of(arena_format(rq->arena, "%.*s%s%.*s", (int)view->rest.size, view->rest.data,
	                            view->query.size ? "?" : "", (int)view->query.size,
	                            view->query.data ? view->query.data : ""));
}

/* The value of "maskRequestHost", with ${PORT} replaced, from the network settings of E2B's
 * clients; or NULL. */
static const char *masked_host(struct request *rq, const struct sandbox_record *r, uint16_t port)
{
	static const char mark[] = "${PORT}";
	const struct json_value *network;
	struct error ignored;
	const char *text, *at;

	if (!strstr(r->network_json, "maskRequestHost") ||
	    json_load(rq->arena, span_of(r->network_json), &network, &ignored) < 0)
		return NULL;
	text = json_text(json_get(network, "maskRequestHost"), NULL);
	at = text ? strstr(text, mark) : NULL;
	if (!at)
		return text;
	return arena_format(rq->arena, "%.*s%u%s", (int)(at - text), text, port,
	                    at + sizeof(mark) - 1);
}

static int start_proxy(struct request *rq, struct reply *reply, const struct preview_view *view,
                       struct error *err)
{
	AUTO(fleet_unhold) struct fleet_hold hold = {.fleet = NULL};
	struct api *api = api_of(rq);
	struct sandbox_record record;
	char place[PLACE_SIZE];
	struct proxy_options options = {
	        .pool = api->preview->pool,
	        .place = place,
	        .upstream_fd = -1,
	        .prefix = view->prefix,
	        .port = view->port,
	        .is_https = api_is_https(rq),
	        .is_boxed = view->is_boxed,
	        .withheld = withheld_headers(rq),
	        .cookie_mark = PREVIEW_MARK,
	        .idle_timeout_ms = IDLE_MS,
	        .ops = &exchange_ops,
	};

	if (hold_sandbox(rq, view, &record, &hold, err) < 0)
		return -1;
	request_count_for(rq, record.project_id);
	options.host = masked_host(rq, &record, view->port);
	(void)snprintf(place, sizeof(place), "%s:%u", hold.id, view->port);
	if (connect_port(rq, &record, &hold, &options, err) < 0)
		return -1;
	struct preview_exchange *s = memory_new(sizeof(*s));
	*s = (struct preview_exchange){
	        .hold = hold, .api = api, .wants_page = request_wants_page(rq)};
	memcpy(s->stream.id, hold.id, sizeof(s->stream.id));
	s->stream.is_granted = view->grant != NULL;
	hold = (struct fleet_hold){.fleet = NULL};
	options.state = s;
	options.target = make_target(rq, view);
	reply_proxy(rq, reply, &options);
	preview_tell_opened(rq, view, &record);
	return 0;
}

/* A page with the CSP sandbox directive has the origin "null" and sends preflight requests.
 * Allowing everything reveals nothing: the address alone gives access. */
static bool is_preflight(const struct request *rq, const struct preview_view *view)
{
	const char *origin = request_header(rq, "Origin");

	return view->is_boxed && view->grant && rq->method == HTTP_OPTIONS && origin &&
	       strcmp(origin, "null") == 0 && request_header(rq, "Access-Control-Request-Method");
}

static void answer_preflight(const struct request *rq, struct reply *reply)
{
	const char *headers = request_header(rq, "Access-Control-Request-Headers");

	reply_status(reply, 204);
	reply_header(reply, "Access-Control-Allow-Origin", "*");
	reply_header(reply, "Access-Control-Allow-Methods", "*");
	reply_header(reply, "Access-Control-Max-Age", "600");
	if (headers)
		reply_header(reply, "Access-Control-Allow-Headers", headers);
}

static int check_request(const struct request *rq, const struct preview_view *view,
                         struct error *err)
{
	if (strcmp(rq->method_name, "TRACE") == 0 || strcmp(rq->method_name, "CONNECT") == 0)
		return FAIL(err, ERROR_INVALID, "previews do not support the method %s",
		            rq->method_name);
	/* A service worker would outlive the page and act for an origin that is not the page's. */
	if (view->is_boxed && request_header(rq, "Service-Worker"))
		return FAIL(err, ERROR_FORBIDDEN,
		            "service workers are not allowed for previews below a path");
	return 0;
}

int preview_serve(struct request *rq, struct reply *reply, const struct preview_view *view,
                  struct error *err)
{
	preview_port_refuse *refuse_port = api_of(rq)->preview->refuse_port;

	if (is_preflight(rq, view)) {
		answer_preflight(rq, reply);
		return 0;
	}
	if (check_request(rq, view, err) == 0 && start_proxy(rq, reply, view, err) == 0)
		return 0;
	if (err->node[0] && api_forward(rq, reply, err) == 0)
		return 0;
	if (request_is_deferred(rq))
		return -1;
	if ((view->is_traffic || view->is_trusted) && !request_wants_page(rq) && refuse_port &&
	    refuse_port(reply, &(struct preview_port){view->id_or_name, view->port}, err))
		return 0;
	return preview_refuse(rq, reply, err);
}

void preview_refusal_set(struct api *api, preview_port_refuse *refuse)
{
	api->preview->refuse_port = refuse;
}
