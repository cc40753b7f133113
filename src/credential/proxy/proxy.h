/* SPDX-License-Identifier: Apache-2.0 */
/* credential/proxy/proxy.h — the credential proxy: puts credentials into requests of sandboxes,
 * outside of them.
 *
 *   gateway for names --connections (egress/handover.h)--> proxy
 *   api process --sets of credentials (sender.h)---------> proxy
 *
 * It ends TLS of a sandbox with a certificate of that sandbox's own authority, and speaks TLS to
 * the host over the connection that the gateway made; on port 80 there is no TLS on either side.
 * Each request is compared with the sandbox's rules (rule.h). HTTP/1.1 on both sides. Answers are
 * searched for the values (mask.h). Bodies pass through bounded buffers.
 *
 * One process with one thread, started by the supervisor. It has no files and opens no connections,
 * cannot fork, and holds the secrets of the sandboxes that use it, in memory only. A sandbox that
 * it has no set of is refused. It may be killed at any time: its connections end, and the api
 * process sends all sets again. */
#pragma once

#include "base/error.h"

struct credential_proxy_options {
	int control_fd;    /* listens for the api process */
	int handover_fd;   /* connections from the gateway */
	int reports_fd;    /* takes decisions as datagrams; -1: none */
	const char *roots; /* a PEM file of the certificates to trust; NULL: the system's */
	/* Called when everything is open, before the first byte is read. */
	int (*confine)(const void *context, struct error *err);
	const void *context;
};
/* Runs until it fails. */
MUST_CHECK int credential_proxy_run(const struct credential_proxy_options *options,
                                    struct error *err);
