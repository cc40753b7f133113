/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox and port that a request is for: two headers name them, or the host, or both if they
 * agree. */
#include <string.h>

#include "edge/api.h"
#include "http/server/host.h"
#include "sandbox/preview.h"
#include "surface/envd/envd.h"
#include "surface/envd/routes.h"
#include "surface/envd/surface.h"
#include "surface/preview/hosts.h"

static const char *host_of(const struct request *rq)
{
	const char *host = request_header(rq, "Host");

	/* On a unix socket the Host has no meaning. */
	return host && strcmp(rq->peer, "unix") != 0 ? host : "";
}

static int read_headers(const struct request *rq, struct envd_address *ret, struct error *err)
{
	const char *id = request_header(rq, "E2b-Sandbox-Id");
	const char *port = request_header(rq, "E2b-Sandbox-Port");
	size_t size = strlen(id);

	if (!port) {
		(void)FAIL(err, ERROR_INVALID,
		           "the header E2b-Sandbox-Id needs the header E2b-Sandbox-Port");
		error_hint(err, "%d is the port of files and processes", ENVD_PORT);
		return -1;
	}
	if (preview_port_parse(port, &ret->port, err) < 0)
		return FAIL_CONTEXT(err, "E2b-Sandbox-Port");
	/* An invalid id stays empty: no sandbox has it. */
	ret->id[0] = '\0';
	if (id_is_valid(id))
		memcpy(ret->id, id, size + 1);
	return 0;
}

int envd_address_find(const struct request *rq, struct envd_address *ret, struct error *err)
{
	const struct config *config = api_of(rq)->config;
	struct span host = span_of(host_of(rq));
	struct envd_address of_host = {.port = 0}, of_headers = {.port = 0};
	bool has_host = preview_host_is_sandbox(config, host);
	bool has_headers = request_header(rq, "E2b-Sandbox-Id") != NULL;

	if (has_host && preview_host_parse(config, host, of_host.id, &of_host.port, err) < 0)
		return -1;
	if (has_headers && read_headers(rq, &of_headers, err) < 0)
		return -1;
	/* A proxy may check the host before this server: a header must not override it. */
	if (has_host && has_headers &&
	    (strcmp(of_host.id, of_headers.id) != 0 || of_host.port != of_headers.port))
		return FAIL(err, ERROR_INVALID,
		            "the headers and the host name different sandboxes or ports");
	*ret = has_host ? of_host : of_headers;
	return 0;
}

int envd_address_require(const struct request *rq, struct reply *reply, struct envd_address *ret,
                         struct error *err)
{
	if (envd_address_find(rq, ret, err) < 0)
		return -1;
	if (ret->id[0])
		return 0;
	envd_reply_gone(reply, request_header(rq, "E2b-Sandbox-Id"));
	return 1;
}

struct http_host envd_host_find(struct api *api, const struct request *rq, struct http_host host)
{
	struct envd_address address;
	struct error ignored;

	if (host.below || (!host.route && !request_header(rq, "E2b-Sandbox-Id")))
		return host;
	if (envd_address_find(rq, &address, &ignored) < 0)
		return host.route && !request_header(rq, "E2b-Sandbox-Id")
		               ? host
		               : (struct http_host){.route = &envd_mismatch_route};
	if (address.port == ENVD_PORT)
		return (struct http_host){.router = api->envd->router};
	if (address.port == INTERPRETER_PORT)
		return (struct http_host){.router = api->envd->interpreter_router};
	return host.route ? host : (struct http_host){.route = &envd_port_route};
}

static int refuse_mismatch(struct request *rq, UNUSED const void *body, UNUSED struct reply *reply,
                           struct error *err)
{
	struct envd_address address;

	if (envd_address_find(rq, &address, err) < 0)
		return -1;
	return FAIL(err, ERROR_NOT_FOUND, "no route for this request");
}

const struct route envd_mismatch_route = {
        .method = HTTP_ANY,
        .path = "/*path",
        .flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN,
        .handle = refuse_mismatch,
        .tag = ENVD_TAG,
        .summary = "A request with contradictory headers and host",
};

/* Routes of the ports of a sandbox that this server answers itself. */
const struct route *const interpreter_routes[] = {envd_interpreter_routes, NULL};

const struct route *const envd_routes[] = {
        envd_process_routes, envd_stream_routes,
        envd_input_routes,   envd_filesystem_routes,
        envd_watch_routes,   envd_watcher_routes,
        envd_compose_routes, envd_file_routes,
        envd_state_routes,   NULL,
};
