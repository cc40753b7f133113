/* SPDX-License-Identifier: Apache-2.0 */
/* edge/forward.h — passes a request on to another server on the same store, which has the sandbox.
 *
 * The request goes there unchanged, with its credentials: the servers share the keys. A header
 * names the server that the request is passed on to. That server does not pass it on again, and any
 * other server refuses it. A client that sets the header itself only causes these refusals. The
 * address of a server comes from the store, where that server has published it.
 *
 * api_forward serves handlers that fail at once. The functions here serve handlers that find out
 * later, on another thread. */
#pragma once

#include "edge/api.h"

struct api;
struct config;
struct relay;
struct tls;

/* The addresses of the other servers, and the TLS context for them. ERROR_INVALID when the file of
 * the option peer_ca cannot be used. */
struct api_peers;
int api_peers_open(const struct config *config, struct api_peers **ret, struct error *err);
void api_peers_close(struct api_peers *peers); /* NULL is fine */

/* Whether another server has passed this request on to a server that is not this one. */
bool api_is_misdirected(const struct request *rq);

/* A connection to the server that has the sandbox; fd -1: none. */
struct api_hop {
	char node[ERROR_NODE_MAX];
	struct tls *tls;
	int fd;
	bool is_gone; /* of a failure: the server has ended, or nothing answers at its address */
};
/* False for a request that another server has passed on. Any thread that has the request. */
bool api_hop_is_allowed(const struct request *rq);
/* Blocks. When it fails, err says why; err is unchanged when that server has published no address.
 */
MUST_CHECK int api_hop_open(struct api *api, struct arena *a, const char *node, struct api_hop *ret,
                            struct error *err);
void api_hop_close(struct api_hop *hop);

/* Passes the request on: that server's answer becomes the answer, and the relay is released. Takes
 * the connection. Call it before relay_begin, on the loop. */
struct api_hop_options {
	struct span body;               /* of the request */
	void (*release)(void *context); /* called exactly once, last */
	void *context;
};
void api_hop_pass(struct relay *relay, struct api_hop *hop, const struct api_hop_options *options);

/* For api_forward. */
/* Whether a failed connection says that the server is gone: nothing listens there, or nothing comes
 * back. A certificate that is not accepted, or too few workers here, say nothing of it. */
bool api_says_gone(const struct error *why);
/* Takes over what a server that is gone had (fleet/core/takeover.h), and lets the request run again
 * when this server, or a faster one, has taken it. Returns -1 with err, which awaits that. */
int api_repeat_when_taken(const struct request *rq, const char *node, struct error *err);
