/* SPDX-License-Identifier: Apache-2.0 */
/* Network decisions in /metrics. */
#include <inttypes.h>

#include "base/bytes.h"
#include "decision/decision.h"
#include "edge/api.h"
#include "grant/grant.h"
#include "surface/operator/metrics.h"

static void write_gauge(struct buf *out, const char *name, const char *help, uint64_t value)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %" PRIu64 "\n", name, help, name, name,
	         value);
}

static void write_proxy(struct buf *out, const struct api *api)
{
	const struct credential_usage u = grants_usage(api->grants);

	write_gauge(out, "atoll_credential_proxy_connections",
	            "Connections that the credential proxy carries.", u.connections);
	write_gauge(out, "atoll_credential_proxy_memory_bytes",
	            "Memory of connections of the credential proxy.", u.memory);
	write_gauge(out, "atoll_credential_proxy_memory_largest_bytes",
	            "Memory of connections of the sandbox that holds most.", u.memory_largest);
	buf_addf(out,
	         "# HELP atoll_credential_proxy_refused_total Connections refused because their "
	         "sandbox was over its number or its memory.\n"
	         "# TYPE atoll_credential_proxy_refused_total counter\n"
	         "atoll_credential_proxy_refused_total %" PRIu64 "\n",
	         u.refused);
}

void decisions_write_metrics(struct buf *out, const struct api *api)
{
	const struct decision_counts c = decision_log_counts(api->decisions);

	buf_addf(
	        out,
	        "# HELP atoll_egress_decisions_total Connections that network rules decided on.\n# "
	        "TYPE atoll_egress_decisions_total counter\n"
	        "atoll_egress_decisions_total{decision=\"denied\"} %" PRIu64 "\n"
	        "atoll_egress_decisions_total{decision=\"allowed\"} %" PRIu64 "\n"
	        "atoll_egress_decisions_total{decision=\"watched\"} %" PRIu64 "\n",
	        c.denied, c.allowed, c.watched);
	buf_addf(
	        out,
	        "# HELP atoll_credential_requests_total Requests that rules of credentials decided "
	        "on.\n# TYPE atoll_credential_requests_total counter\n"
	        "atoll_credential_requests_total{decision=\"allowed\"} %" PRIu64 "\n"
	        "atoll_credential_requests_total{decision=\"denied\"} %" PRIu64 "\n",
	        c.rule_allowed, c.rule_denied);
	buf_addf(
	        out,
	        "# HELP atoll_egress_rows_total Rows of network decisions written to the store.\n# "
	        "TYPE atoll_egress_rows_total counter\natoll_egress_rows_total %" PRIu64 "\n"
	        "# HELP atoll_egress_dropped_total Network decisions dropped before they were "
	        "written.\n# TYPE atoll_egress_dropped_total counter\natoll_egress_dropped_total "
	        "%" PRIu64 "\n",
	        c.rows, c.dropped);
	write_proxy(out, api);
	buf_addf(out,
	         "# HELP atoll_egress_proxy_failures_total Connections of sandboxes that the proxy "
	         "of this server did not make.\n# TYPE atoll_egress_proxy_failures_total counter\n"
	         "atoll_egress_proxy_failures_total %" PRIu64 "\n",
	         c.proxy_failures);
}
