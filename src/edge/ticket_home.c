/* SPDX-License-Identifier: Apache-2.0 */
/* "SECRET.NODE.SECONDS.SIGNATURE" */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "edge/tickets.h"
#include "fleet/core/access.h"
#include "fleet/core/peers.h"

/* The clocks of two servers may differ by the lifetime of a ticket. */
#define SIGNED_MS (2 * API_TICKET_MS)

/* The signed text; all parts are signed together, so none can be moved to another ticket. */
struct claim {
	struct span secret, node, seconds;
	const char *path;
};

static const char *text_of(struct arena *a, const struct claim *c)
{
	return arena_format(a, "%.*s %.*s %.*s %s", (int)c->secret.size, c->secret.data,
	                    (int)c->node.size, c->node.data, (int)c->seconds.size, c->seconds.data,
	                    c->path);
}

const char *api_ticket_sign(const struct fleet *fleet, struct arena *a, const char *secret,
                            const char *path)
{
	const struct claim claim = {
	        .secret = span_of(secret),
	        .node = span_of(fleet_node(fleet)),
	        .seconds =
	                span_of(arena_format(a, "%" PRId64, (clock_unix_ms() + SIGNED_MS) / 1000)),
	        .path = path,
	};
	char signature[FLEET_ACCESS_TOKEN_SIZE + 1];

	fleet_access_token(fleet, text_of(a, &claim), FLEET_ACCESS_TICKET, signature);
	return arena_format(a, "%s.%s.%s.%s", secret, claim.node.data, claim.seconds.data,
	                    signature);
}

bool api_ticket_issuer(const struct fleet *fleet, struct arena *a, struct span text,
                       const char *path, const char **ret_node)
{
	struct claim claim = {.path = path};
	struct error ignored;
	int64_t seconds;

	if (text.size > API_TICKET_TEXT_MAX || !span_split(&text, '.', &claim.secret) ||
	    !span_split(&text, '.', &claim.node) || !span_split(&text, '.', &claim.seconds) ||
	    claim.secret.size != API_TICKET_SIZE || claim.node.size >= ERROR_NODE_MAX ||
	    span_parse_whole(claim.seconds, 0, INT64_MAX, &seconds, &ignored) < 0 ||
	    seconds <= clock_unix_ms() / 1000 ||
	    !fleet_access_check(fleet, text_of(a, &claim), FLEET_ACCESS_TICKET, text))
		return false;
	*ret_node = arena_copy(a, claim.node);
	return true;
}
