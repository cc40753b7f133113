/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/operator/providers.h"

#include <inttypes.h>

#include "base/log.h"
#include "edge/api.h"
#include "fleet/server/providers.h"
#include "json/json.h"
#include "provider/provider.h"
#include "sandbox/price.h"
#include "surface/operator/metrics.h"

struct warm_answer {
	int64_t ready, starting, wanted, hits, misses;
	uint64_t present;
};
static const struct json_member warm_shape_members[] = {
        JSON_WHOLE_MEMBER(warm_answer, ready, .about = "run, and wait for a create"),
        JSON_WHOLE_MEMBER(warm_answer, starting),
        JSON_WHOLE_MEMBER(warm_answer, wanted,
                          .about = "kubernetes_warm_pods of each shape that was asked for lately"),
        JSON_WHOLE_MEMBER(warm_answer, hits,
                          .about = "creates that got one since the server started"),
        JSON_WHOLE_MEMBER(warm_answer, misses, .about = "creates for which none was ready"),
};
static JSON_BITS_SHAPE(warm_shape, "ProviderWarm", warm_answer,
                       "Sandboxes that the provider runs before they are asked for");

struct provider_answer {
	const char *name, *kind, *isolation, *last_error;
	const char **abilities, **unsupported;
	bool primary, connected, healthy, stored, draining, allow_weaker;
	int64_t sandboxes, max_sandboxes, creates, failures, failed_at;
	int64_t create_timeout_ms, max_p99_ms;
	double p50_ms, p99_ms, price_hour, cost_day, cost_month, max_cost_day, max_cost_month;
	bool slow;
	const char *accelerator, *accelerator_because;
	struct warm_answer warm;
};
static const struct json_member provider_shape_members[] = {
        JSON_TEXT_MEMBER(provider_answer, name),
        JSON_TEXT_MEMBER(provider_answer, kind, .about = "native, host, null …"),
        JSON_BOOL_MEMBER(provider_answer, primary,
                         .about = "keeps templates, snapshots, volumes and pools"),
        JSON_TEXT_MEMBER(provider_answer, isolation),
        JSON_TEXT_LIST_MEMBER(provider_answer, abilities),
        JSON_TEXT_LIST_MEMBER(provider_answer, unsupported,
                              .about = "abilities that the provider lacks"),
        JSON_BOOL_MEMBER(provider_answer, connected,
                         .about = "false: its program has not answered since the server started"),
        JSON_BOOL_MEMBER(provider_answer, healthy,
                         .about = "false: its last creates or checks failed"),
        JSON_WHOLE_MEMBER(provider_answer, sandboxes,
                          .about = "its sandboxes that are neither deleted nor failed"),
        JSON_WHOLE_MEMBER(provider_answer, max_sandboxes, .about = "0: no limit"),
        JSON_BOOL_MEMBER(provider_answer, stored,
                         .about = "it was added at run time and can be removed"),
        JSON_BOOL_MEMBER(provider_answer, draining,
                         .about = "it makes no more sandboxes, and is removed after its last one"),
        JSON_BOOL_MEMBER(provider_answer, allow_weaker,
                         .about = "a create may name it, though it isolates less than the first"),
        JSON_NUMBER_MEMBER(provider_answer, price_hour,
                           .about = "US dollars of a sandbox's active hour; 0: not set"),
        JSON_NUMBER_MEMBER(provider_answer, cost_day,
                           .about = "US dollars that its sandboxes have cost today (UTC)"),
        JSON_NUMBER_MEMBER(provider_answer, cost_month, .about = "the same of this month"),
        JSON_NUMBER_MEMBER(provider_answer, max_cost_day, .about = "0: no limit"),
        JSON_NUMBER_MEMBER(provider_answer, max_cost_month, .about = "0: no limit"),
        JSON_WHOLE_MEMBER(provider_answer, create_timeout_ms,
                          .about = "after this time a create goes on with the next provider; 0: "
                                   "the default, 20 seconds"),
        JSON_WHOLE_MEMBER(provider_answer, max_p99_ms, .about = "0: no limit"),
        JSON_BOOL_MEMBER(provider_answer, slow,
                         .about = "its recent creates are above max_p99_ms: it is tried last"),
        JSON_TEXT_MEMBER(provider_answer, accelerator, .flags = JSON_NULLABLE,
                         .about = "of virtual machines: kvm, or tcg, which emulates processors"),
        JSON_TEXT_MEMBER(provider_answer, accelerator_because, .flags = JSON_NULLABLE,
                         .about = "why it is that accelerator"),
        JSON_OBJECT_MEMBER(provider_answer, warm, &warm_shape, .flags = JSON_NULLABLE,
                           .about = "null: it runs none before they are asked for"),
        JSON_WHOLE_MEMBER(provider_answer, creates, .about = "since the server started"),
        JSON_WHOLE_MEMBER(provider_answer, failures, .about = "creates that the provider failed"),
        JSON_NUMBER_MEMBER(provider_answer, p50_ms,
                           .about = "median of the last creates in milliseconds; 0: none yet"),
        JSON_NUMBER_MEMBER(provider_answer, p99_ms,
                           .about = "99th percentile of the last creates in milliseconds"),
        JSON_TEXT_MEMBER(provider_answer, last_error, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(provider_answer, failed_at, .flags = JSON_NULLABLE,
                         .about = "time of the last error"),
};
static JSON_SHAPE(provider_shape, "Provider", provider_answer,
                  "A provider of sandboxes and its health");

struct providers_answer {
	struct json_list items;
};
static const struct json_member providers_shape_members[] = {
        JSON_LIST_MEMBER(providers_answer, items, &provider_shape),
};
JSON_SHAPE(providers_shape, "Providers", providers_answer,
           "The providers of this server in the order in which they are tried");

struct provider_check_answer {
	const char *name, *accelerator, *accelerator_because;
	double took_ms;
};
static const struct json_member provider_check_shape_members[] = {
        JSON_TEXT_MEMBER(provider_check_answer, name),
        JSON_NUMBER_MEMBER(provider_check_answer, took_ms, .about = "milliseconds"),
        JSON_TEXT_MEMBER(provider_check_answer, accelerator, .flags = JSON_NULLABLE,
                         .about = "as of the provider"),
        JSON_TEXT_MEMBER(provider_check_answer, accelerator_because, .flags = JSON_NULLABLE),
};
JSON_SHAPE(provider_check_shape, "ProviderCheck", provider_check_answer,
           "The provider made a sandbox and ended it");

static const char **list_abilities(struct arena *a, unsigned abilities)
{
	const char **names = ARENA_ARRAY(a, const char *, PROVIDER_ABILITY_COUNT + 1);
	size_t count = 0;

	for (unsigned i = 0; i < PROVIDER_ABILITY_COUNT; i++)
		if (abilities & 1U << i)
			names[count++] = provider_ability_name((enum provider_ability)(1U << i));
	return names;
}

static struct provider_answer answer_of(struct arena *a, const struct fleet_provider *p)
{
	return (struct provider_answer){
	        .name = p->name,
	        .kind = p->kind,
	        .isolation = p->isolation,
	        .abilities = list_abilities(a, p->abilities),
	        .unsupported = list_abilities(a, ~p->abilities),
	        .connected = p->is_open,
	        .healthy = p->is_open && p->health.is_healthy,
	        .sandboxes = p->sandboxes,
	        .max_sandboxes = p->limits.sandboxes_max,
	        .stored = p->is_stored,
	        .draining = p->drains,
	        .allow_weaker = p->limits.allows_weaker,
	        .price_hour = money_to_usd(p->limits.price_hour),
	        .cost_day = money_to_usd(p->cost_day),
	        .cost_month = money_to_usd(p->cost_month),
	        .max_cost_day = money_to_usd(p->limits.cost_day_max),
	        .max_cost_month = money_to_usd(p->limits.cost_month_max),
	        .create_timeout_ms = p->limits.create_timeout_ms,
	        .max_p99_ms = p->limits.p99_max_ms,
	        .slow = p->slow_ms > 0,
	        .accelerator = p->accelerator.name,
	        .accelerator_because =
	                p->accelerator.name ? arena_text(a, p->accelerator.because) : NULL,
	        .warm = {p->warm.ready, p->warm.starting, p->warm.wanted, (int64_t)p->warm.hits,
	                 (int64_t)p->warm.misses, p->has_warm ? UINT64_MAX : 0},
	        .creates = (int64_t)p->health.creates,
	        .failures = (int64_t)p->health.failures,
	        .p50_ms = (double)p->health.p50_us / 1000,
	        .p99_ms = (double)p->health.p99_us / 1000,
	        .last_error = p->health.failed_at > 0 ? arena_text(a, p->health.last_error) : NULL,
	        .failed_at = p->health.failed_at,
	};
}

int providers_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                  struct error *err)
{
	struct fleet_provider_list list;
	struct provider_answer *items;
	struct providers_answer answer;

	if (fleet_provider_list(api_of(rq)->fleet, rq->arena, &list, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct provider_answer, list.count);
	for (size_t i = 0; i < list.count; i++) {
		items[i] = answer_of(rq->arena, &list.items[i]);
		items[i].primary = i == 0;
	}
	answer.items = (struct json_list){items, list.count};
	reply_json(reply, &providers_shape, &answer);
	return 0;
}

int provider_check(struct request *rq, UNUSED const void *body, struct reply *reply,
                   struct error *err)
{
	struct provider_check_answer answer = {.name = request_param(rq, "name")};
	struct fleet_provider_checked checked;

	if (fleet_provider_check(api_of(rq)->fleet, answer.name, &checked, err) < 0)
		return -1;
	answer.took_ms = (double)checked.took_us / 1000;
	answer.accelerator = checked.accelerator.name;
	if (answer.accelerator)
		answer.accelerator_because = arena_text(rq->arena, checked.accelerator.because);
	reply_json(reply, &provider_check_shape, &answer);
	return 0;
}

struct provider_metric {
	const char *name, *type, *help;
	int64_t (*value)(const struct fleet_provider *p);
	bool is_seconds; /* the value is microseconds */
};

static void write_values(struct buf *out, const struct fleet_provider_list *list,
                         const struct provider_metric *metric)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct fleet_provider *p = &list->items[i];

		buf_addf(out, "%s{provider=\"%s\"} ", metric->name, p->name);
		if (metric->is_seconds)
			buf_addf(out, "%.6f\n", (double)metric->value(p) / 1e6);
		else
			buf_addf(out, "%" PRId64 "\n", metric->value(p));
	}
}

static int64_t creates_of(const struct fleet_provider *p)
{
	return (int64_t)p->health.creates;
}

static int64_t failures_of(const struct fleet_provider *p)
{
	return (int64_t)p->health.failures;
}

static int64_t healthy_of(const struct fleet_provider *p)
{
	return p->is_open && p->health.is_healthy;
}

static int64_t sandboxes_of(const struct fleet_provider *p)
{
	return p->sandboxes;
}

static int64_t p50_of(const struct fleet_provider *p)
{
	return p->health.p50_us;
}

static int64_t p99_of(const struct fleet_provider *p)
{
	return p->health.p99_us;
}

static int64_t failed_at_of(const struct fleet_provider *p)
{
	return p->health.failed_at / 1000;
}

static int64_t sandboxes_max_of(const struct fleet_provider *p)
{
	return p->limits.sandboxes_max;
}

static int64_t cost_day_of(const struct fleet_provider *p)
{
	return p->cost_day;
}

static int64_t cost_month_of(const struct fleet_provider *p)
{
	return p->cost_month;
}

static void write_accelerators(struct buf *out, const struct fleet_provider_list *list)
{
	buf_add_text(out, "# HELP atoll_provider_accelerator Runs the processors of its virtual "
	                  "machines, and why.\n# TYPE atoll_provider_accelerator gauge\n");
	for (size_t i = 0; i < list->count; i++) {
		const struct fleet_provider *p = &list->items[i];

		if (p->accelerator.name)
			buf_addf(out,
			         "atoll_provider_accelerator{provider=\"%s\",accelerator=\"%s\","
			         "reason=\"%s\"} 1\n",
			         p->name, p->accelerator.name, p->accelerator.reason);
	}
}

static void write_warm(struct buf *out, const struct fleet_provider_list *list)
{
	static const char *const heads[] = {
	        "# HELP atoll_provider_warm Sandboxes that the provider runs before they are asked "
	        "for: ready, starting, and wanted.\n# TYPE atoll_provider_warm gauge\n",
	        "# HELP atoll_provider_warm_claims_total Creates by whether one was ready.\n"
	        "# TYPE atoll_provider_warm_claims_total counter\n"};

	buf_add_text(out, heads[0]);
	for (size_t i = 0; i < list->count; i++) {
		const struct fleet_provider *p = &list->items[i];

		if (p->has_warm)
			buf_addf(out,
			         "atoll_provider_warm{provider=\"%s\",state=\"ready\"} %u\n"
			         "atoll_provider_warm{provider=\"%s\",state=\"starting\"} %u\n"
			         "atoll_provider_warm{provider=\"%s\",state=\"wanted\"} %u\n",
			         p->name, p->warm.ready, p->name, p->warm.starting, p->name,
			         p->warm.wanted);
	}
	buf_add_text(out, heads[1]);
	for (size_t i = 0; i < list->count; i++) {
		const struct fleet_provider *p = &list->items[i];

		if (p->has_warm)
			buf_addf(out,
			         "atoll_provider_warm_claims_total{provider=\"%s\",result=\"hit\"} "
			         "%" PRIu64 "\natoll_provider_warm_claims_total{provider=\"%s\","
			         "result=\"miss\"} "
			         "%" PRIu64 "\n",
			         p->name, p->warm.hits, p->name, p->warm.misses);
	}
}

void providers_write_metrics(struct buf *out, const struct api *api)
{
	static const struct provider_metric rows[] = {
	        {"atoll_provider_creates_total", "counter",
	         "Creates that the provider was asked for.", creates_of},
	        {"atoll_provider_failures_total", "counter", "Creates that the provider failed.",
	         failures_of},
	        {"atoll_provider_healthy", "gauge", "1 when the provider is healthy.", healthy_of},
	        {"atoll_provider_sandboxes", "gauge", "Sandboxes that the provider has.",
	         sandboxes_of},
	        {"atoll_provider_create_p50_seconds", "gauge", "Median time of the last creates.",
	         p50_of, true},
	        {"atoll_provider_create_p99_seconds", "gauge",
	         "99th percentile of the time of the last creates.", p99_of, true},
	        {"atoll_provider_last_error_timestamp_seconds", "gauge",
	         "Time of the last error; 0: none.", failed_at_of},
	        {"atoll_provider_sandboxes_max", "gauge", "Its limit of sandboxes; 0: none.",
	         sandboxes_max_of},
	        {"atoll_provider_cost_day_micro_usd", "gauge",
	         "Cost of its sandboxes today, in millionths of a US dollar.", cost_day_of},
	        {"atoll_provider_cost_month_micro_usd", "gauge",
	         "Cost of its sandboxes this month, in millionths of a US dollar.", cost_month_of},
	};
	AUTO(arena_done) struct arena arena = {0};
	struct fleet_provider_list list;
	struct error err = {0};

	if (fleet_provider_list(api->fleet, &arena, &list, &err) < 0) {
		log_warning("providers are not counted", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", rows[i].name, rows[i].help,
		         rows[i].name, rows[i].type);
		write_values(out, &list, &rows[i]);
	}
	write_accelerators(out, &list);
	write_warm(out, &list);
}
