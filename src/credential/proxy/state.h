/* SPDX-License-Identifier: Apache-2.0 */
/* credential/proxy/state.h — the state of the proxy. Private to this folder. Loop thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/map.h"
#include "credential/proxy/carry.h"

#define CONTROLS_MAX 4 /* api processes at once: an old one, and its successor */

/* While all connections hold more, each sandbox's budget (guard.h) is the small one: a few that
 * hold little notice nothing. */
#define MEMORY_MAX ((size_t)1024 * 1024 * 1024)
#define MEMORY_OF_ONE_MIN ((size_t)12 * 1024 * 1024)

struct control_link;
struct credential_proxy {
	struct loop *loop;
	int control_fd, handover_fd, reports_fd;
	struct map guards; /* sandbox id -> struct guard */
	struct tls_context *roots;
	unsigned carried_count;
	size_t memory;    /* of all connections */
	uint64_t refused; /* connections of sandboxes that were over a limit */
	uint64_t session; /* of the newest api process */
	struct control_link *controls[CONTROLS_MAX];
	struct loop_timer away; /* runs while there is no api process */
	/* Reports of the current second. */
	unsigned reported;
	uint64_t skipped;
	int64_t reported_since_ms;
	char scratch[CARRY_READ];
};

/* Replaces the guard of the set's sandbox and ends the connections of the old one; a set that is
 * the same changes nothing. */
MUST_CHECK int proxy_put(struct credential_proxy *p, struct span text, uint64_t session,
                         struct error *err);
void proxy_remove(struct credential_proxy *p, const char *sandbox);
/* Removes the sets that this session has not put. */
void proxy_settle(struct credential_proxy *p, uint64_t session);
/* Call it when a control comes or goes. Without any for a while, all sets are forgotten. */
void proxy_note_controls(struct credential_proxy *p);
struct control_usage;
void proxy_tell_usage(const struct credential_proxy *p, struct control_usage *ret);
void proxy_report(struct credential_proxy *p, const struct network_decision *d);

/* control.c */

MUST_CHECK int control_accept(struct credential_proxy *p, struct error *err);
