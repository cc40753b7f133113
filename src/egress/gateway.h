/* SPDX-License-Identifier: Apache-2.0 */
/* egress/gateway.h — what connections and questions of sandboxes share. Private to this folder. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "egress/resolver.h"
#include "sandbox/egress.h"

#define REFUSALS_TOLD 1024
#define SCRATCH_SIZE 16384 /* bytes that are read at once */

/* One sandbox, as long as it has a connection or a question. */
struct guest {
	char name[INET_ADDRSTRLEN]; /* of its address, and of the file of its rules */
	uint32_t address;
	unsigned connections, questions, lookups;
};

struct gateway {
	struct loop *loop;
	struct resolver resolver;
	int http_fd, tls_fd, dns_fd, rules_fd;
	int changes_fd; /* of the rules' folder: inotify */
	int routes_fd;  /* route.h */
	struct loop_watch *http_watch, *tls_watch;
	struct loop_timer pause; /* of accepting */
	struct egress_range subnet, allow[NETWORK_ALLOW_MAX];
	unsigned allow_count;
	struct list connections;
	unsigned connection_count;
	struct map guests; /* by name */
	/* Refusals that were told in this span of time, of whom: by the end of his address. */
	unsigned char told[REFUSALS_TOLD];
	int64_t told_since_ms;
	char scratch[SCRATCH_SIZE];
};

/* ---- guests.c: who is it, and what may he ---- */

/* Made when there is none; it is the gateway's, until guest_put finds it with nothing. */
struct guest *guest_get(struct gateway *g, uint32_t address);
void guest_put(struct gateway *g, struct guest *guest);

/* Whether it is one that a sandbox may have. */
bool gateway_knows(const struct gateway *g, uint32_t address);

/* What the sandbox's rules say now; not so when it has none, or they cannot be read. */
bool rules_allow(const struct gateway *g, const struct guest *guest, const char *name);
/* Whether a sandbox may reach this address, had its rules no say. */
bool gateway_may_reach(const struct gateway *g, uint32_t address);

/* One line in the log, of the first few of each sandbox. */
void gateway_tell(struct gateway *g, const struct guest *guest, const char *name, const char *why);

/* ---- connection.c ---- */

enum protocol { PROTOCOL_HTTP, PROTOCOL_TLS };
/* Takes the socket over. */
void connection_start(struct gateway *g, enum protocol protocol, int fd, struct guest *guest);
/* Ends those of the sandbox of this address, NULL = of each, whose name is allowed no more. */
void connections_check(struct gateway *g, const char *guest);
/* Ends all of it: its rules have gone, and its address may be the next one's already. */
void connections_end(struct gateway *g, const char *guest);

/* ---- questions.c ---- */

/* Reads and answers what is there. */
void questions_read(struct gateway *g);
