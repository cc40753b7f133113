/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/webhooks — webhooks for the project's events, and their deliveries. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "config/config.h"
#include "edge/api.h"
#include "http/client/outbound.h"
#include "sandbox/events.h"
#include "store/webhooks.h"
#include "surface/native/native.h"
#include "webhook/webhook.h"

#define BASE "/v1/webhooks"
#define PATTERNS_MAX 32
#define LIMIT_USUAL 100
#define LIMIT_MAX 1000

struct webhook_body {
	const char *url, *secret;
	const char **events;
	bool enabled;
	uint64_t present;
};
enum webhook_row { WEBHOOK_URL, WEBHOOK_EVENTS, WEBHOOK_SECRET, WEBHOOK_ENABLED };
#define BODY_ROWS(url_flags)                                                                       \
	[WEBHOOK_URL] = JSON_TEXT_MEMBER(webhook_body, url, .flags = (url_flags), .min = 1,        \
	                                 .max = OUTBOUND_URL_MAX,                                  \
	                                 .about = "http or https URL on the internet"),            \
	[WEBHOOK_EVENTS] = JSON_TEXT_LIST_MEMBER(                                                  \
	        webhook_body, events, .min = 1, .max = PATTERNS_MAX,                               \
	        .about = "kinds such as sandbox.started, or sandbox.* (default: all)"),            \
	[WEBHOOK_SECRET] = JSON_TEXT_MEMBER(webhook_body, secret, .flags = JSON_SECRET,            \
	                                    .max = WEBHOOK_SECRET_MAX,                             \
	                                    .about = "key for signatures (default: generated)"),   \
	[WEBHOOK_ENABLED] = JSON_BOOL_MEMBER(webhook_body, enabled, .about = "default true"),

static const struct json_member webhook_request_members[] = {BODY_ROWS(JSON_REQUIRED)};
static JSON_BITS_SHAPE(webhook_request, "WebhookCreate", webhook_body, "A webhook to create");
static const struct json_member webhook_change_members[] = {BODY_ROWS(0)};
static JSON_BITS_SHAPE(
        webhook_change, "WebhookChange", webhook_body,
        "Given members replace the stored ones; a webhook that is enabled again receives "
        "only new events");

struct webhook_answer {
	const char *id, *url, *problem, *secret;
	const char **events;
	bool enabled;
	int64_t waiting, dead, created_at, updated_at;
};
#define ANSWER_ROWS                                                                                \
	JSON_TEXT_MEMBER(webhook_answer, id), JSON_TEXT_MEMBER(webhook_answer, url),               \
	        JSON_TEXT_LIST_MEMBER(webhook_answer, events),                                     \
	        JSON_BOOL_MEMBER(webhook_answer, enabled),                                         \
	        JSON_TEXT_MEMBER(webhook_answer, problem, .flags = JSON_NULLABLE,                  \
	                         .about = "why the server disabled the webhook"),                  \
	        JSON_WHOLE_MEMBER(webhook_answer, waiting,                                         \
	                          .about = "number of waiting deliveries"),                        \
	        JSON_WHOLE_MEMBER(webhook_answer, dead, .about = "number of dead deliveries"),     \
	        JSON_TIME_MEMBER(webhook_answer, created_at),                                      \
	        JSON_TIME_MEMBER(webhook_answer, updated_at)
static const struct json_member webhook_shape_members[] = {ANSWER_ROWS};
static JSON_SHAPE(webhook_shape, "Webhook", webhook_answer, "A webhook, without its secret");
static const struct json_member webhook_made_shape_members[] = {
        ANSWER_ROWS,
        JSON_TEXT_MEMBER(webhook_answer, secret, .about = "returned only once"),
};
static JSON_SHAPE(webhook_made_shape, "WebhookMade", webhook_answer,
                  "A new webhook, with its secret");

static const struct json_member webhook_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &webhook_shape),
};
static JSON_SHAPE(webhook_list_shape, "WebhookList", list_answer, "Webhooks, oldest first");

struct delivery_answer {
	const char *id, *kind, *state, *error;
	struct span event;
	int64_t sequence, attempts, status, created_at, next_at, ended_at;
};
static const struct json_member delivery_shape_members[] = {
        JSON_TEXT_MEMBER(delivery_answer, id, .about = "value of the header Atoll-Delivery"),
        JSON_WHOLE_MEMBER(delivery_answer, sequence, .about = "sequence of the event"),
        JSON_TEXT_MEMBER(delivery_answer, kind),
        JSON_TEXT_MEMBER(delivery_answer, state, .about = "waiting, delivered or dead"),
        JSON_WHOLE_MEMBER(delivery_answer, attempts),
        JSON_WHOLE_MEMBER(delivery_answer, status,
                          .about = "HTTP status of the last reply; 0: no reply came"),
        JSON_TEXT_MEMBER(delivery_answer, error, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(delivery_answer, created_at),
        JSON_TIME_MEMBER(delivery_answer, next_at, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(delivery_answer, ended_at, .flags = JSON_NULLABLE),
        JSON_RAW_MEMBER(delivery_answer, event, .about = "body of the request"),
};
static JSON_SHAPE(delivery_shape, "Delivery", delivery_answer, "Delivery of an event to a webhook");
static const struct json_member delivery_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &delivery_shape),
};
static JSON_SHAPE(delivery_list_shape, "DeliveryList", list_answer, "Deliveries, newest first");

struct deliveries_query {
	const char *state;
	int64_t before, limit;
};
static const struct json_member deliveries_query_members[] = {
        JSON_TEXT_MEMBER(deliveries_query, state, .max = 16,
                         .about = "waiting, delivered or dead (default: any)"),
        JSON_WHOLE_MEMBER(deliveries_query, before, .min = 0,
                          .about = "sequence of the last delivery of the previous page"),
        JSON_WHOLE_MEMBER(deliveries_query, limit, .min = 1, .max = LIMIT_MAX,
                          .about = "default 100"),
};
static JSON_SHAPE(deliveries_query, "DeliveriesQuery", deliveries_query, "Filter for deliveries");

static const char **split_patterns(struct arena *a, const char *patterns)
{
	const char **list = ARENA_ARRAY(a, const char *, PATTERNS_MAX + 1);
	struct span rest = span_of(patterns), word;
	size_t count = 0;

	while (rest.size > 0 && count < PATTERNS_MAX) {
		(void)span_split(&rest, ' ', &word);
		list[count++] = arena_copy(a, word);
	}
	return list;
}

static void fill_webhook_answer(struct arena *a, const struct webhook_record *r,
                                struct webhook_answer *ret)
{
	*ret = (struct webhook_answer){
	        .id = r->id,
	        .url = r->url,
	        .events = split_patterns(a, r->patterns),
	        .enabled = r->enabled,
	        .problem = r->state_text && *r->state_text ? r->state_text : NULL,
	        .waiting = r->waiting,
	        .dead = r->dead,
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	};
}

static int join_patterns(struct arena *a, const char **events, const char **ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(PATTERNS_MAX * (EVENT_PATTERN_MAX + 1));

	for (size_t i = 0; events[i]; i++) {
		if (event_pattern_check(events[i], err) < 0)
			return FAIL_CONTEXT(err, "events[%zu]", i);
		buf_addf(&text, "%s%s", i > 0 ? " " : "", events[i]);
	}
	*ret = arena_text(a, buf_text(&text));
	return 0;
}

/* Members that the caller gives replace those of the record. */
static int apply_webhook_body(struct request *rq, const struct webhook_body *b,
                              struct webhook_record *r, struct error *err)
{
	if (row_is_given(b->present, WEBHOOK_URL)) {
		if (outbound_url_check(b->url, api_of(rq)->config->webhook_allow_private, err) < 0)
			return FAIL_CONTEXT(err, "url");
		r->url = b->url;
	}
	if (row_is_given(b->present, WEBHOOK_SECRET)) {
		if (webhook_secret_check(b->secret, err) < 0)
			return FAIL_CONTEXT(err, "secret");
		r->secret = b->secret;
	}
	if (row_is_given(b->present, WEBHOOK_EVENTS) &&
	    join_patterns(rq->arena, b->events, &r->patterns, err) < 0)
		return -1;
	if (row_is_given(b->present, WEBHOOK_ENABLED)) {
		r->enabled = b->enabled;
		r->state_text = "";
	}
	r->updated_at = clock_unix_ms();
	return 0;
}

static int find_webhook(struct request *rq, struct webhook_record *ret, struct error *err)
{
	return store_webhook_find(api_of(rq)->store, rq->arena, api_project(rq),
	                          request_param(rq, "webhook"), ret, err);
}

static int webhook_create(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	struct api *api = api_of(rq);
	char secret[WEBHOOK_SECRET_SIZE + 1];
	struct id id = id_new();
	struct webhook_record record = {
	        .id = id.text,
	        .project_id = api_project(rq),
	        .secret = secret,
	        .patterns = "*",
	        .enabled = true,
	        .created_at = clock_unix_ms(),
	};
	struct webhook_answer answer;

	webhook_secret_generate(secret);
	if (apply_webhook_body(rq, body, &record, err) < 0 ||
	    store_webhook_insert(api->store, &record, (unsigned)api->config->webhooks_max, err) < 0)
		return -1;
	webhooks_wake(api->webhooks);
	fill_webhook_answer(rq->arena, &record, &answer);
	answer.secret = record.secret;
	reply_status(reply, 201);
	reply_header(reply, "Cache-Control", "no-store");
	reply_json(reply, &webhook_made_shape, &answer);
	return 0;
}

static int webhook_list(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct webhook_list found;
	struct webhook_answer *items;

	(void)body;
	if (store_webhook_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct webhook_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		fill_webhook_answer(rq->arena, &found.items[i], &items[i]);
	reply_list(reply, &webhook_list_shape, items, found.count);
	return 0;
}

static int webhook_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct webhook_record record;
	struct webhook_answer answer;

	(void)body;
	if (find_webhook(rq, &record, err) < 0)
		return -1;
	fill_webhook_answer(rq->arena, &record, &answer);
	reply_json(reply, &webhook_shape, &answer);
	return 0;
}

static int webhook_patch(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	struct webhook_record record;

	if (find_webhook(rq, &record, err) < 0 || apply_webhook_body(rq, body, &record, err) < 0 ||
	    store_webhook_update(api_of(rq)->store, &record, err) < 0)
		return -1;
	webhooks_wake(api_of(rq)->webhooks);
	return webhook_get(rq, NULL, reply, err);
}

static int webhook_delete(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	(void)body;
	if (store_webhook_remove(api_of(rq)->store, api_project(rq), request_param(rq, "webhook"),
	                         err) < 0)
		return -1;
	webhooks_wake(api_of(rq)->webhooks);
	reply_status(reply, 204);
	return 0;
}

static int check_delivery_state(const char *state, struct error *err)
{
	for (unsigned i = 0; state && i < DELIVERY_STATE_COUNT; i++)
		if (strcmp(state, delivery_state_name((enum delivery_state)i)) == 0)
			return 0;
	if (!state)
		return 0;
	(void)FAIL(err, ERROR_INVALID, "unknown state '%.16s'", state);
	error_hint(err, "waiting, delivered or dead");
	return -1;
}

static struct delivery_answer make_delivery_answer(const struct delivery_record *r)
{
	return (struct delivery_answer){
	        .id = r->id,
	        .sequence = r->sequence,
	        .kind = r->kind,
	        .state = delivery_state_name(r->state),
	        .attempts = r->attempts,
	        .status = r->status,
	        .error = *r->error ? r->error : NULL,
	        .event = span_of(r->body),
	        .created_at = r->created_at,
	        .next_at = r->state == DELIVERY_WAITING ? r->next_at : 0,
	        .ended_at = r->ended_at,
	};
}

static int deliveries_list(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct deliveries_query *q = rq->query;
	struct webhook_record webhook;
	struct delivery_page page = {
	        .state = q->state, .before = q->before, .limit = q->limit ? q->limit : LIMIT_USUAL};
	struct delivery_list found;
	struct delivery_answer *items;

	(void)body;
	if (check_delivery_state(q->state, err) < 0 || find_webhook(rq, &webhook, err) < 0)
		return -1;
	page.webhook_id = webhook.id;
	if (store_delivery_list(api_of(rq)->store, rq->arena, &page, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct delivery_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_delivery_answer(&found.items[i]);
	reply_list(reply, &delivery_list_shape, items, found.count);
	return 0;
}

static int delivery_retry(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	struct webhook_record webhook;
	struct delivery_ref ref = {.id = request_param(rq, "delivery"), .now = clock_unix_ms()};

	(void)body;
	if (find_webhook(rq, &webhook, err) < 0)
		return -1;
	ref.webhook_id = webhook.id;
	if (store_delivery_retry(api_of(rq)->store, &ref, err) < 0)
		return -1;
	webhooks_wake(api_of(rq)->webhooks);
	reply_status(reply, 202);
	return 0;
}

struct deliveries_retried {
	int64_t retried, dead;
};
static const struct json_member retried_shape_members[] = {
        JSON_WHOLE_MEMBER(deliveries_retried, retried, .about = "number of retried deliveries"),
        JSON_WHOLE_MEMBER(deliveries_retried, dead,
                          .about = "number of dead deliveries that are left"),
};
static JSON_SHAPE(retried_shape, "DeliveriesRetried", deliveries_retried,
                  "The result of a retry of all dead deliveries");

static int deliveries_retry(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	struct delivery_ref ref = {.now = clock_unix_ms()};
	struct deliveries_retried answer;
	struct webhook_record webhook;
	int count;

	if (find_webhook(rq, &webhook, err) < 0)
		return -1;
	ref.webhook_id = webhook.id;
	count = store_delivery_retry_dead(api_of(rq)->store, &ref, err);
	if (count < 0)
		return -1;
	webhooks_wake(api_of(rq)->webhooks);
	answer =
	        (struct deliveries_retried){count, webhook.dead > count ? webhook.dead - count : 0};
	reply_json(reply, &retried_shape, &answer);
	return 0;
}

struct webhook_test_answer {
	bool ok;
	int64_t status, duration_ms;
	const char *error;
};
static const struct json_member webhook_test_shape_members[] = {
        JSON_BOOL_MEMBER(webhook_test_answer, ok, .about = "the status is 2xx"),
        JSON_WHOLE_MEMBER(webhook_test_answer, status, .about = "0: no answer came"),
        JSON_WHOLE_MEMBER(webhook_test_answer, duration_ms),
        JSON_TEXT_MEMBER(webhook_test_answer, error, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(webhook_test_shape, "WebhookTest", webhook_test_answer,
                  "The result of a test event");

static int webhook_test(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct webhook_test_answer answer;
	struct webhook_record record;
	struct webhook_test test;

	if (!api_of(rq)->webhooks)
		return FAIL(err, ERROR_UNSUPPORTED, "this server sends no events");
	if (find_webhook(rq, &record, err) < 0 ||
	    webhook_send_test(api_of(rq)->webhooks, &record, &test, err) < 0)
		return -1;
	answer = (struct webhook_test_answer){!test.error[0], test.status, test.took_ms,
	                                      text_or_null(test.error)};
	reply_json(reply, &webhook_test_shape, &answer);
	return 0;
}

#define TAG .tag = "webhooks"
const struct route webhooks_routes[] = {
        {HTTP_POST, BASE, SCOPE_SANDBOX_WRITE, .body = &webhook_request,
         .answer = &webhook_made_shape, .status = 201, .handle = webhook_create, TAG,
         .summary = "Create a webhook"},
        {HTTP_GET, BASE, SCOPE_SANDBOX_WRITE, .answer = &webhook_list_shape, .handle = webhook_list,
         TAG, .summary = "List the project's webhooks"},
        {HTTP_GET, BASE "/:webhook", SCOPE_SANDBOX_WRITE, .answer = &webhook_shape,
         .handle = webhook_get, TAG, .summary = "Get a webhook"},
        {HTTP_PATCH, BASE "/:webhook", SCOPE_SANDBOX_WRITE, .body = &webhook_change,
         .answer = &webhook_shape, .handle = webhook_patch, TAG, .summary = "Change a webhook"},
        {HTTP_DELETE, BASE "/:webhook", SCOPE_SANDBOX_WRITE, .status = 204,
         .handle = webhook_delete, TAG, .summary = "Delete a webhook and its deliveries"},
        {HTTP_POST, BASE "/:webhook/test", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_LONG,
         .answer = &webhook_test_shape, .handle = webhook_test, TAG,
         .summary = "Send a test event once and report the receiver's answer"},
        {HTTP_GET, BASE "/:webhook/deliveries", SCOPE_SANDBOX_WRITE, .query = &deliveries_query,
         .answer = &delivery_list_shape, .handle = deliveries_list, TAG,
         .summary = "List the deliveries of a webhook"},
        {HTTP_POST, BASE "/:webhook/deliveries/retry", SCOPE_SANDBOX_WRITE,
         .answer = &retried_shape, .handle = deliveries_retry, TAG,
         .summary = "Retry the oldest 1000 dead deliveries of a webhook, with all attempts"},
        {HTTP_POST, BASE "/:webhook/deliveries/:delivery/retry", SCOPE_SANDBOX_WRITE, .status = 202,
         .handle = delivery_retry, TAG, .summary = "Retry a delivery, with all attempts"},
        {.path = NULL},
};
