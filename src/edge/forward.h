/* SPDX-License-Identifier: Apache-2.0 */
/* edge/forward.h — requests that another server on the same store answers, because it has the
 * sandbox. Such a request goes there as it came, credentials and all: the keys are the database's.
 * It is marked with the name of the server that it is for: that one passes it on to nobody, so that
 * it goes no further than one hop, and any other refuses it. A client that marks its own request
 * has nothing of it but these refusals. Where it goes is what that server itself has written into
 * the store.
 *
 * api_forward serves all whose handler refuses; here is what those need that find out late. Private
 * to this folder. */
#pragma once

#include "edge/api.h"
#include "http/relay.h"

struct config;
struct tls;

/* The addresses of the other servers, and the TLS context for them. ERROR_INVALID when the file of
 * the option peer_ca cannot be used. */
struct api_peers;
int api_peers_open(const struct config *config, struct api_peers **ret, struct error *err);
void api_peers_close(struct api_peers *peers); /* NULL is fine */

/* Whether another server has passed this request on to a server that is not this one. */
bool api_is_misdirected(const struct request *rq);

/* A connection to the server that has it; fd -1: none. */
struct api_hop {
	char node[ERROR_NODE_MAX];
	struct tls *tls;
	int fd;
};
/* Whether the request may go on from here: those that came by another server do not. Any thread
 * that has the request. */
bool api_hop_is_allowed(const struct request *rq);
/* Blocks. When it fails err says why, and is as it was where that server has published no
 * address. */
MUST_CHECK int api_hop_open(struct api *api, struct arena *a, const char *node, struct api_hop *ret,
                            struct error *err);
void api_hop_close(struct api_hop *hop);

/* Before relay_begin, on the loop: the request goes to that server, its answer is the answer, and
 * the relay is released. The connection is taken. */
struct api_hop_options {
	struct span body;               /* of the request */
	void (*release)(void *context); /* called once, last */
	void *context;
};
void api_hop_pass(struct relay *relay, struct api_hop *hop, const struct api_hop_options *options);
