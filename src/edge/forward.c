/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/forward.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "config/config.h"
#include "config/url.h"
#include "edge/hooks.h"
#include "edge/hosts.h"
#include "fleet/core/peers.h"
#include "http/client/dial.h"
#include "http/client/host_lookup.h"
#include "http/proxy/proxy.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "http/server/relay.h"
#include "http/tls/tls.h"

/* A reachable peer accepts a connection at once. */
#define DIAL_QUICK_MS 200
#define DIAL_MS 3000
/* Time without a byte in both directions: long enough for a silent command, and ends the connection
 * to a peer that hangs. */
#define IDLE_MS (3600 * 1000)

struct api_peers {
	struct host_lookup *names;
	const char *ca_file;
	unsigned dials_max; /* at most so many workers wait for slow connections */
	atomic_uint dials;
	pthread_mutex_t mutex;   /* guards `tls` while it is made */
	struct tls_context *tls; /* made for the first peer with TLS */
};

static int load_tls(struct api_peers *peers, struct error *err)
{
	int result = 0;

	pthread_mutex_lock(&peers->mutex);
	if (!peers->tls)
		result = tls_client_context_new(peers->ca_file, &peers->tls, err);
	pthread_mutex_unlock(&peers->mutex);
	return result;
}

int api_peers_open(const struct config *config, struct api_peers **ret, struct error *err)
{
	struct api_peers *peers = memory_new(sizeof(*peers));

	peers->names = host_lookup_new(NULL);
	peers->ca_file = config->peer_ca;
	peers->dials_max = (unsigned)config->workers / 4 + 1;
	pthread_mutex_init(&peers->mutex, NULL);
	*ret = peers;
	/* Check the option at the start, so that the operator sees the error. */
	if (config->peer_ca[0] && access(config->peer_ca, R_OK) < 0)
		return FAIL_ERRNO(err, "peer_ca '%s'", config->peer_ca);
	if (config->peer_ca[0] && load_tls(peers, err) < 0)
		return FAIL_CONTEXT(err, "peer_ca '%s'", config->peer_ca);
	return 0;
}

void api_peers_close(struct api_peers *peers)
{
	if (!peers)
		return;
	host_lookup_free(peers->names);
	tls_context_free(peers->tls);
	pthread_mutex_destroy(&peers->mutex);
	free(peers);
}

struct hop_relay {
	const struct request *rq; /* of the exchange, which outlives the relay */
	char node[ERROR_NODE_MAX];
	struct api_hop_options options;
};

/* Answers in the surface's form of a failure. */
static void answer_failure(void *state, struct relay *relay, int status, const struct error *err)
{
	AUTO(buf_done) struct buf out = BUF((size_t)64 * 1024);
	const struct hop_relay *hop = state;
	struct error named = *err;
	struct http_failure failure = {
	        .status = status,
	        .code = error_kind_get(err->code)->name,
	        .message = named.text,
	        .hint = named.hint,
	        .err = &named,
	};

	error_context(&named, "node '%s'", hop->node);
	error_hint(&named, "the request may have taken effect");
	request_write_failure(hop->rq, &failure, &out);
	relay_answer(relay, failure.status, "application/json", buf_span(&out));
}

static void release_hop(void *state)
{
	struct hop_relay *hop = state;

	if (hop->options.release)
		hop->options.release(hop->options.context);
	free(hop);
}

static const struct proxy_ops hop_ops = {.fail = answer_failure, .release = release_hop};

/* Tries for a short time first. Only dials_max workers may wait longer, so that slow peers do not
 * block all workers. */
static int dial_peer(struct api_peers *peers, const char *url, int *ret_fd, struct tls **ret_tls,
                     struct error *err)
{
	struct config_peer peer;
	struct http_dial request = {.names = peers->names,
	                            .deadline = deadline_after(DIAL_QUICK_MS)};
	int result;

	if (config_peer_parse(url, &peer, err) < 0 || (peer.is_https && load_tls(peers, err) < 0))
		return -1;
	request.host = peer.host;
	request.port = peer.port;
	request.tls = peer.is_https ? peers->tls : NULL;
	result = http_dial(&request, ret_fd, ret_tls, err);
	if (result == 0 || err->code != ERROR_TIMEOUT)
		return result;
	error_clear(err);
	request.deadline = deadline_after(DIAL_MS);
	if (atomic_fetch_add(&peers->dials, 1) >= peers->dials_max)
		result = FAIL(err, ERROR_UNAVAILABLE, "too many calls wait for a connection");
	else
		result = http_dial(&request, ret_fd, ret_tls, err);
	atomic_fetch_sub(&peers->dials, 1);
	return result;
}

bool api_hop_is_allowed(const struct request *rq)
{
	return rq->exchange && !request_header(rq, PROXY_HOP_HEADER);
}

int api_hop_open(struct api *api, struct arena *a, const char *node, struct api_hop *ret,
                 struct error *err)
{
	struct api_hop hop = {.fd = -1};
	struct error why = {0};
	const char *url = NULL;
	bool is_gone;

	(void)snprintf(hop.node, sizeof(hop.node), "%s", node);
	if (fleet_peer_find(api->fleet, a, node, &url, &why) == 0 &&
	    dial_peer(api->peers, url, &hop.fd, &hop.tls, &why) == 0) {
		*ret = hop;
		return 0;
	}
	is_gone = url ? api_says_gone(&why) : why.code == ERROR_UNAVAILABLE;
	/* That server has published no address: keep the error of the call. */
	if (why.code == ERROR_NOT_FOUND)
		return -1;
	ret->is_gone = is_gone;
	(void)FAIL(err, ERROR_UNAVAILABLE, "node '%s' has it, and is not reached: %s", hop.node,
	           why.text);
	error_hint(err, "ask again when that server answers");
	return -1;
}

void api_hop_close(struct api_hop *hop)
{
	tls_free(TAKE(hop->tls));
	socket_drop(&hop->fd);
	hop->fd = -1;
}

/* NULL keeps the Host header. The other server does not know a name of this machine alone or the
 * name in a request over a unix socket. */
static const char *host_for_others(const struct request *rq)
{
	const char *host = request_header(rq, "Host");

	if (host && strcmp(rq->peer, "unix") != 0 &&
	    host_is_shared(api_of(rq)->config, span_of(host)))
		return NULL;
	return "localhost";
}

static struct proxy_options proxy_options_new(const struct request *rq, struct api_hop *hop,
                                              const struct api_hop_options *options)
{
	struct hop_relay *relay = memory_new(sizeof(*relay));
	struct tls *tls = TAKE(hop->tls);
	int fd = TAKE_FD(hop->fd);

	relay->rq = rq;
	memcpy(relay->node, hop->node, sizeof(relay->node));
	relay->options = *options;
	return (struct proxy_options){
	        .hop = relay->node,
	        .host = host_for_others(rq),
	        .upstream_fd = fd,
	        .tls = tls,
	        .is_https = api_is_https(rq),
	        .idle_timeout_ms = IDLE_MS,
	        .ops = &hop_ops,
	        .state = relay,
	};
}

void api_hop_pass(struct relay *relay, struct api_hop *hop, const struct api_hop_options *options)
{
	const struct proxy_options proxy = proxy_options_new(relay_request(relay), hop, options);

	relay_proxy(relay, options->body, &proxy);
}

bool api_is_misdirected(const struct request *rq)
{
	const char *hop = request_header(rq, PROXY_HOP_HEADER);

	return hop && strcmp(hop, fleet_node(api_of(rq)->fleet)) != 0;
}

int api_forward(struct request *rq, struct reply *reply, struct error *err)
{
	struct proxy_options proxy;
	struct api_hop hop = {.fd = -1};
	const char *node = arena_text(rq->arena, err->node);

	if (!node[0] || !api_hop_is_allowed(rq) || request_may_wait(rq, err) < 0)
		return -1;
	if (api_hop_open(api_of(rq), rq->arena, node, &hop, err) < 0)
		return hop.is_gone ? api_repeat_when_taken(rq, node, err) : -1;
	proxy = proxy_options_new(rq, &hop, &(struct api_hop_options){.context = NULL});
	reply_proxy(rq, reply, &proxy);
	return 0;
}
