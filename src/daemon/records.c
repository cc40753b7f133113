/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/records.h"

#include "activity/activity.h"
#include "config/config.h"
#include "daemon/options.h"
#include "decision/decision.h"

int records_open(const struct records_options *o, struct records *ret, struct error *err)
{
	const struct activity_log_options activity = {
	        .store = o->store,
	        .sandbox_rows_max = o->config->activity_max,
	};
	const struct decision_log_options decisions = {
	        .store = o->store,
	        .reports_fd = o->options->reports_fd,
	        .packets_fd = o->options->packets_fd,
	        .allow = o->config->network_allow,
	        .sandbox_rows_max = o->config->activity_max,
	        .has_proxy = *o->config->network_proxy != '\0',
	};

	if (activity_log_open(&activity, &ret->activity, err) < 0)
		return -1;
	return decision_log_open(&decisions, &ret->decisions, err);
}

void records_close(struct records *r)
{
	activity_log_close(r->activity);
	decision_log_close(r->decisions);
	*r = (struct records){0};
}
