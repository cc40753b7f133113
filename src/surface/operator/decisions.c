/* SPDX-License-Identifier: Apache-2.0 */
/* Network decisions in /metrics. */
#include <inttypes.h>

#include "base/bytes.h"
#include "decision/decision.h"
#include "edge/api.h"
#include "surface/operator/metrics.h"

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
}
