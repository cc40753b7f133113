/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/plans.h"

#include "edge/api.h"
#include "fleet/lifecycle/create.h"
#include "json/json.h"

static const char *const sources[FLEET_PLAN_SOURCE_COUNT] = {"request", "template", "project",
                                                             "platform"};

struct plan_value_answer {
	const char *name, *source, *lowered_by;
	double value, wanted;
};
static const struct json_member plan_value_shape_members[] = {
        JSON_TEXT_MEMBER(plan_value_answer, name,
                         .about = "cpu, memory_mb, disk_mb, pids or a timeout such as "
                                  "idle_pause_ms"),
        JSON_NUMBER_MEMBER(plan_value_answer, value,
                           .about = "effective value; 0 of a timeout: "
                                    "never"),
        JSON_NUMBER_MEMBER(plan_value_answer, wanted, .about = "value before the caps"),
        JSON_TEXT_MEMBER(plan_value_answer, source,
                         .about = "request, template, project or platform"),
        JSON_TEXT_MEMBER(plan_value_answer, lowered_by, .flags = JSON_NULLABLE,
                         .about = "project or platform, whose cap lowered the value"),
};
static JSON_SHAPE(plan_value_shape, "SandboxPlanValue", plan_value_answer,
                  "A planned value and its source");

struct plan_text_answer {
	const char *name, *value, *source;
};
static const struct json_member plan_text_shape_members[] = {
        JSON_TEXT_MEMBER(plan_text_answer, name,
                         .about = "template, network, provider, isolation or region"),
        JSON_TEXT_MEMBER(plan_text_answer, value),
        JSON_TEXT_MEMBER(plan_text_answer, source, .about = "request or platform"),
};
static JSON_SHAPE(plan_text_shape, "SandboxPlanText", plan_text_answer,
                  "A planned choice and its source");

struct plan_answer {
	struct json_list values, choices;
	bool template_ready;
	double price_per_hour_usd;
};
static const struct json_member plan_shape_members[] = {
        JSON_LIST_MEMBER(plan_answer, values, &plan_value_shape),
        JSON_LIST_MEMBER(plan_answer, choices, &plan_text_shape),
        JSON_BOOL_MEMBER(plan_answer, template_ready,
                         .about = "false: the create waits for the template's first build"),
        JSON_NUMBER_MEMBER(plan_answer, price_per_hour_usd, .about = "of the active sandbox"),
};
JSON_SHAPE(plan_shape, "SandboxPlan", plan_answer,
           "The sandbox that the request would make, with dry_run=true; nothing was made");

static struct json_list describe_values(struct arena *a, const struct fleet_plan *plan)
{
	struct plan_value_answer *answers = ARENA_ARRAY(a, struct plan_value_answer, plan->count);

	for (unsigned i = 0; i < plan->count; i++) {
		const struct fleet_plan_value *v = &plan->values[i];

		answers[i] = (struct plan_value_answer){
		        .name = v->name,
		        .value = v->value,
		        .wanted = v->wanted,
		        .source = sources[v->source],
		        .lowered_by = v->lowered_by < 0 ? NULL : sources[v->lowered_by],
		};
	}
	return (struct json_list){answers, plan->count, .present = true};
}

static struct json_list describe_choices(struct arena *a, const struct fleet_plan *plan)
{
	const struct plan_text_answer rows[] = {
	        {"template", plan->template, sources[plan->template_source]},
	        {"network", plan->network == SANDBOX_NETWORK_INTERNET ? "internet" : "blocked",
	         sources[plan->network_source]},
	        {"provider", plan->provider, sources[FLEET_PLAN_PLATFORM]},
	        {"isolation", plan->isolation, sources[FLEET_PLAN_PLATFORM]},
	        {"region", plan->region, sources[plan->region_source]},
	};
	struct plan_text_answer *answers = ARENA_ARRAY(a, struct plan_text_answer, COUNT_OF(rows));

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		answers[i] = rows[i];
	return (struct json_list){answers, COUNT_OF(rows), .present = true};
}

int reply_plan(struct request *rq, const struct fleet_create *request, struct reply *reply,
               struct error *err)
{
	struct fleet_plan plan;
	struct plan_answer answer;

	if (fleet_plan_create(api_of(rq)->fleet, rq->arena, request, &plan, err) < 0)
		return -1;
	answer = (struct plan_answer){
	        .values = describe_values(rq->arena, &plan),
	        .choices = describe_choices(rq->arena, &plan),
	        .template_ready = plan.is_template_ready,
	        .price_per_hour_usd = (double)plan.hour_nano / 1e9,
	};
	reply_status(reply, 200);
	reply_json(reply, &plan_shape, &answer);
	return 0;
}
