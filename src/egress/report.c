/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of decisions. A sandbox cannot make the server busy by refusals: it has so many reports a
 * second, and the rest is counted. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/gateway.h"

#define REPORTS_PER_SECOND 64
#define SECOND_MS 1000

static bool send_report(const struct gateway *g, const struct network_decision *d)
{
	return send(g->reports_fd, d, sizeof(*d), MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)sizeof(*d);
}

/* What was not reported, without a host. */
static void send_skipped(const struct gateway *g, struct report_count *count,
                         const struct network_decision *like)
{
	struct network_decision rest = {
	        .protocol = DECISION_OTHER,
	        .verdict = DECISION_DENIED,
	        .code = DECISION_LIMIT,
	        .count = count->skipped,
	};

	memcpy(rest.sandbox, like->sandbox, sizeof(rest.sandbox));
	if (count->skipped > 0 && send_report(g, &rest))
		count->skipped = 0;
}

void gateway_report(struct gateway *g, const struct guest *guest, struct network_decision *d)
{
	struct report_count *count = &g->reported[guest->address % REPORTED_GUESTS];
	int64_t now = loop_now_ms(g->loop);

	if (g->reports_fd < 0)
		return;
	if (!*d->sandbox) {
		struct network_decision known = *d;

		(void)rules_allow(g, guest, &known, NULL);
		memcpy(d->sandbox, known.sandbox, sizeof(d->sandbox));
	}
	if (!*d->sandbox)
		return;
	if (now - count->since_ms >= SECOND_MS) {
		send_skipped(g, count, d);
		count->sent = 0;
		count->since_ms = now;
	}
	if (count->sent < REPORTS_PER_SECOND && send_report(g, d))
		count->sent++;
	else if (d->count > 0)
		count->skipped++;
}
