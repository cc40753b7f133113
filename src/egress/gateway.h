/* SPDX-License-Identifier: Apache-2.0 */
/* egress/gateway.h — the state that connections and DNS questions of sandboxes share. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "egress/resolver.h"
#include "sandbox/decision.h"
#include "sandbox/egress.h"
#include "sandbox/egress_ipv6.h"
#include "sandbox/upstream.h"

#define REFUSALS_TOLD 1024
#define REPORTED_GUESTS 4096
#define SCRATCH_SIZE 16384 /* bytes of one read */
#define UPSTREAM_AUTHORIZATION_SIZE (UPSTREAM_LOGIN_MAX / 3 * 4 + 16)

/* A sandbox, while it has a connection or a question. */
struct guest {
	char name[INET_ADDRSTRLEN]; /* its address as text, and the name of its rules file */
	uint32_t address;
	unsigned connections, questions, lookups;
};

struct gateway {
	struct loop *loop;
	struct resolver resolver;
	int http_fd, tls_fd, dns_fd, rules_fd, handover_fd, reports_fd, sources_fd;
	struct upstream_proxy proxy; /* port 0: there is none */
	char authorization[UPSTREAM_AUTHORIZATION_SIZE];
	int changes_fd; /* inotify of the rules folder */
	int routes_fd;  /* route.h */
	struct loop_watch *http_watch, *tls_watch;
	struct loop_timer pause; /* before accepting again */
	struct egress_range subnet;
	struct egress_range6 subnet6;
	struct egress_opened opened;
	struct list connections;
	unsigned connection_count;
	struct map guests; /* by name */
	/* Refusals logged in the current period, by the low bits of the sandbox's address. */
	unsigned char told[REFUSALS_TOLD];
	int64_t told_since_ms;
	/* Reports of the current second, by the low bits of the sandbox's address. */
	struct report_count {
		uint32_t sent, skipped;
		int64_t since_ms;
	} reported[REPORTED_GUESTS];
	char scratch[SCRATCH_SIZE];
};

/* guests.c: sandboxes and their rules */

/* Finds or makes a guest. The gateway owns it; guest_put frees it when it has neither connections
 * nor questions. */
struct guest *guest_get(struct gateway *g, uint32_t address);
void guest_put(struct gateway *g, struct guest *guest);

/* Whether a sandbox may have this address. */
bool gateway_knows(const struct gateway *g, uint32_t address);

/* Whether the sandbox's current rules allow the name of the decision; false without readable rules.
 * Sets the decision's sandbox and rule, the code when a quota cuts the network, and whether the
 * name is marked as decrypted
 * (`ret_is_decrypted` may be NULL). */
bool rules_allow(const struct gateway *g, const struct guest *guest, struct network_decision *d,
                 bool *ret_is_decrypted);
/* The address by which the sandbox's connections must leave; 0: any. False without readable rules.
 */
bool rules_source(const struct gateway *g, const struct guest *guest, uint32_t *ret);
/* Whether the sandbox's current rules leave this address to a name that no rule of names allows
 * (rules_allow sets no rule then); in the mode "watch", the decision becomes a watched one. True
 * for a name that a rule allows. */
bool rules_leave_address(const struct gateway *g, const struct guest *guest,
                         struct network_decision *d, uint32_t address);
/* Whether any sandbox may reach this address, apart from its rules. */
bool gateway_may_reach(const struct gateway *g, uint32_t address);
bool gateway_may_reach6(const struct gateway *g, const struct address6 *address);

/* Logs a refusal; only the first few of each sandbox. Reports it, too. */
void gateway_tell(struct gateway *g, const struct guest *guest, struct network_decision *d,
                  const char *why);

/* report.c */

/* Sends the decision to the server; sets its sandbox if it has none. Never waits: what is too much
 * for a second, or for a full socket, is counted and reported without a host later. */
void gateway_report(struct gateway *g, const struct guest *guest, struct network_decision *d);

/* connection.c */

enum protocol { PROTOCOL_HTTP, PROTOCOL_TLS };
/* As decisions name it. */
uint8_t protocol_of(enum protocol protocol);
uint16_t port_of(enum protocol protocol);
/* Takes ownership of the socket. */
void connection_start(struct gateway *g, enum protocol protocol, int fd, struct guest *guest);
/* Closes connections of this sandbox (NULL = of all) whose name is not allowed any more. */
void connections_check(struct gateway *g, const char *guest);
/* Closes all connections of this sandbox: its rules are gone, and its address may belong to another
 * sandbox. */
void connections_end(struct gateway *g, const char *guest);

/* questions.c */

/* Reads and answers waiting questions. */
void questions_read(struct gateway *g);
