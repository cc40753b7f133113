/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/channels — tokens of chat services; /v1/job-deliveries — messages sent with them. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "config/config.h"
#include "edge/api.h"
#include "http/client/outbound.h"
#include "job/job.h"
#include "store/channels.h"
#include "surface/native/native.h"

#define BASE "/v1/channels"
#define DELIVERIES "/v1/job-deliveries"
#define LIMIT_USUAL 100
#define LIMIT_MAX 1000

/* In the order of enum job_channel, starting with the first chat service. */
static const char *const kinds[] = {"slack", "discord", "telegram", "github",
                                    "zalo",  "pancake", NULL};
struct channel_body {
	int type;
	const char *token, *base_url;
};
static const struct json_member channel_request_members[] = {
        JSON_CHOICE_MEMBER(channel_body, type, .flags = JSON_REQUIRED, .choices = kinds),
        JSON_TEXT_MEMBER(channel_body, token, .flags = JSON_REQUIRED | JSON_SECRET,
                         .max = CHANNEL_TOKEN_MAX,
                         .about = "token of a bot, an app, an official account or a page"),
        JSON_TEXT_MEMBER(channel_body, base_url, .max = OUTBOUND_URL_MAX,
                         .about = "address of a self-hosted service (default: the public service)"),
};
static JSON_SHAPE(channel_request, "ChannelPut", channel_body, "Token of a chat service");

struct channel_answer {
	const char *name, *type, *base_url;
	int64_t created_at, updated_at;
};
static const struct json_member channel_shape_members[] = {
        JSON_TEXT_MEMBER(channel_answer, name),
        JSON_TEXT_MEMBER(channel_answer, type),
        JSON_TEXT_MEMBER(channel_answer, base_url, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(channel_answer, created_at),
        JSON_TIME_MEMBER(channel_answer, updated_at),
};
static JSON_SHAPE(channel_shape, "Channel", channel_answer, "A channel, without its token");
static const struct json_member channel_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &channel_shape),
};
static JSON_SHAPE(channel_list_shape, "ChannelList", list_answer, "Channels, sorted by name");

struct message_answer {
	const char *result_id, *channel, *state, *error;
	int64_t attempts, status, ended_at, next_at;
};
static const struct json_member message_shape_members[] = {
        JSON_TEXT_MEMBER(message_answer, result_id, .name = "resultId"),
        JSON_TEXT_MEMBER(message_answer, channel),
        JSON_TEXT_MEMBER(message_answer, state, .about = "waiting, sending, delivered or dead"),
        JSON_WHOLE_MEMBER(message_answer, attempts),
        JSON_WHOLE_MEMBER(message_answer, status,
                          .about = "HTTP status of the last reply; 0: no reply came"),
        JSON_TEXT_MEMBER(message_answer, error, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(message_answer, ended_at, .about = "when the job ended",
                         .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(message_answer, next_at, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(message_shape, "JobDelivery", message_answer, "A message about the end of a job");
static const struct json_member message_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &message_shape),
};
static JSON_SHAPE(message_list_shape, "JobDeliveryList", list_answer, "Messages, newest job first");

struct messages_query {
	const char *state;
	int64_t before, limit;
};
static const struct json_member messages_query_members[] = {
        JSON_TEXT_MEMBER(messages_query, state, .max = 16,
                         .about = "waiting, sending, delivered or dead (default: any)"),
        JSON_WHOLE_MEMBER(messages_query, before, .min = 0,
                          .about = "Unix ms: created_at of the last job of the previous page"),
        JSON_WHOLE_MEMBER(messages_query, limit, .min = 1, .max = LIMIT_MAX,
                          .about = "default 100"),
};
static JSON_SHAPE(messages_query, "JobDeliveriesQuery", messages_query, "Filter for messages");

static struct channel_answer make_channel_answer(const struct channel_record *r)
{
	return (struct channel_answer){
	        .name = r->name,
	        .type = job_channel_name(r->kind),
	        .base_url = r->base_url && *r->base_url ? r->base_url : NULL,
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	};
}

static int channel_put(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct channel_body *b = body;
	struct api *api = api_of(rq);
	struct id id = id_new();
	int64_t now = clock_unix_ms();
	const struct channel_record record = {
	        .id = id.text,
	        .project_id = api_project(rq),
	        .name = request_param(rq, "name"),
	        .kind = (enum job_channel)(JOB_CHANNEL_SLACK + b->type),
	        .base_url = b->base_url ? b->base_url : "",
	        .token = b->token,
	        .created_at = now,
	        .updated_at = now,
	};
	const struct channel_answer answer = make_channel_answer(&record);

	if (job_channel_check(&record, api->config->webhook_allow_private, err) < 0 ||
	    store_channel_put(api->store, &record, CHANNELS_MAX, err) < 0)
		return -1;
	reply_json(reply, &channel_shape, &answer);
	return 0;
}

static int channels_list(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	struct channel_list found;
	struct channel_answer *items;

	(void)body;
	if (store_channel_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct channel_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_channel_answer(&found.items[i]);
	reply_list(reply, &channel_list_shape, items, found.count);
	return 0;
}

static int channel_delete(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct channel_ref ref = {api_project(rq), request_param(rq, "name")};

	(void)body;
	if (store_channel_remove(api_of(rq)->store, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int check_message_state(const char *state, struct error *err)
{
	for (unsigned i = JOB_DELIVERY_WAITING; state && i < JOB_DELIVERY_COUNT; i++)
		if (strcmp(state, job_delivery_name((enum job_delivery)i)) == 0)
			return 0;
	if (!state)
		return 0;
	(void)FAIL(err, ERROR_INVALID, "unknown state '%.16s'", state);
	error_hint(err, "waiting, sending, delivered or dead");
	return -1;
}

static struct message_answer make_message_answer(const struct job_record *r)
{
	return (struct message_answer){
	        .result_id = r->id,
	        .channel = job_channel_name(r->channel),
	        .state = job_delivery_name(r->delivery),
	        .attempts = r->delivery_tries,
	        .status = r->delivery_status,
	        .error = *r->delivery_error ? r->delivery_error : NULL,
	        .ended_at = r->ended_at,
	        .next_at = r->delivery == JOB_DELIVERY_WAITING ? r->delivery_at : 0,
	};
}

static int messages_list(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct messages_query *q = rq->query;
	const struct job_delivery_page page = {.project_id = api_project(rq),
	                                       .delivery = q->state,
	                                       .before = q->before,
	                                       .limit = q->limit ? q->limit : LIMIT_USUAL};
	struct job_list found;
	struct message_answer *items;

	(void)body;
	if (check_message_state(q->state, err) < 0 ||
	    store_job_deliveries(api_of(rq)->store, rq->arena, &page, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct message_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_message_answer(&found.items[i]);
	reply_list(reply, &message_list_shape, items, found.count);
	return 0;
}

static int message_retry(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct job_ref ref = {.project_id = api_project(rq), .id = request_param(rq, "job")};
	struct job_record r;

	(void)body;
	if (store_job_find(api_of(rq)->store, rq->arena, &ref, &r, err) < 0 ||
	    store_job_deliver_again(api_of(rq)->store, &ref, err) < 0)
		return -1;
	if (api_of(rq)->jobs)
		job_redelivered(api_of(rq)->jobs);
	reply_status(reply, 202);
	return 0;
}

#define TAG .tag = "jobs"
#define WRITE SCOPE_SANDBOX_WRITE
const struct route channels_routes[] = {
        {HTTP_GET, BASE, WRITE, .answer = &channel_list_shape, .handle = channels_list, TAG,
         .summary = "List the chat services that can report the ends of jobs"},
        {HTTP_PUT, BASE "/:name", WRITE, .body = &channel_request, .answer = &channel_shape,
         .handle = channel_put, TAG, .summary = "Set the token of a chat service"},
        {HTTP_DELETE, BASE "/:name", WRITE, .status = 204, .handle = channel_delete, TAG,
         .summary = "Delete a channel"},
        {HTTP_GET, DELIVERIES, WRITE, .query = &messages_query, .answer = &message_list_shape,
         .handle = messages_list, TAG,
         .summary = "List messages about jobs: delivered, waiting and dead"},
        {HTTP_POST, DELIVERIES "/:job/retry", WRITE, .status = 202, .handle = message_retry, TAG,
         .summary = "Send a message again"},
        {.path = NULL},
};
