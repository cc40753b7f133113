/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "config/config.h"
#include "http/client/outbound.h"
#include "job/channel.h"
#include "job/parts.h"
#include "json/json.h"
#include "store/channels.h"
#include "store/secrets.h"
#include "webhook/webhook.h"
#include "worker/worker.h"

#define SEND_MS 10000
/* Longer than any attempt lasts. */
#define CLAIM_MS 12000
#define ANSWER_MAX ((size_t)64 * 1024)
#define UNDER_WAY_MAX 8
/* Limit of a project: the receiver of a message may use all of its time. */
#define UNDER_WAY_PROJECT_MAX 2
#define LOOK_MIN_MS 100
#define DUE_MS 1000
#define LOOK_MAX_MS 5000
#define REST_MS 30000

struct delivery {
	struct worker_task task;
	struct list item; /* of jobs->delivering, under its mutex */
	struct jobs *jobs;
	struct arena arena;
	struct job_record record;
	const struct channel_kind *kind;
	struct job_origin origin;
	struct channel_record channel;
};

static int find_channel(struct delivery *d, const struct job_origin *origin,
                        struct channel_record *ret, struct error *err)
{
	const struct channel_ref ref = {d->record.project_id, job_origin_credential(origin)};

	if (store_channel_find(d->jobs->store, &d->arena, &ref, ret, err) < 0)
		return -1;
	if (ret->kind != d->record.channel)
		return FAIL(err, ERROR_CONFLICT, "channel '%s' is one of %s", ret->name,
		            job_channel_name(ret->kind));
	return store_secret_check(ret->token, err);
}

static struct channel_outcome send_message(struct delivery *d, const struct channel_kind *kind,
                                           const struct channel_message *m)
{
	AUTO(buf_done) struct buf answer = BUF(ANSWER_MAX);
	struct channel_request request = {.url = NULL};
	struct channel_outcome o = {.error = ""};
	int64_t retry_after_s = 0;
	struct error err = {0};
	struct outbound_post post = {
	        .timeout_ms = SEND_MS,
	        .allow_private = d->jobs->config->webhook_allow_private,
	        .answer = &answer,
	        .cancelled = &d->jobs->is_stopping,
	        .ret_retry_after_s = &retry_after_s,
	};

	kind->make(&d->arena, m, &request);
	post.url = request.url;
	post.headers = request.headers;
	post.body = buf_span(&request.body);
	if (outbound_post(&post, &o.status, &err) == 0)
		o = channel_judge(&d->arena, kind, o.status, retry_after_s, buf_span(&answer));
	else
		o.error = arena_text(&d->arena, err.text);
	buf_done(&request.body);
	return o;
}

/* Reads the channel and the text of the message. */
static int prepare_delivery(struct delivery *d, struct error *err)
{
	const struct job_record *r = &d->record;

	d->kind = channel_kind_find(r->channel);
	if (!d->kind)
		return FAIL(err, ERROR_INVALID, "%s has no messages", job_channel_name(r->channel));
	if (json_parse(&d->arena, span_of(r->origin_json), &job_origin_shape, &d->origin, err) < 0)
		return -1;
	return find_channel(d, &d->origin, &d->channel, err);
}

static struct channel_outcome attempt_delivery(struct delivery *d)
{
	const struct job_record *r = &d->record;
	const struct channel_kind *kind = d->kind;
	const struct channel_record channel = d->channel;
	struct error err = {0};
	struct channel_message m = {.origin = &d->origin, .id = r->id};

	m.base_url = *channel.base_url ? channel.base_url : kind->base_url;
	m.token = channel.token;
	m.text = channel_text(&d->arena, kind, r);
	/* Reports only the base of a refused address, because the rest may hold the token. */
	if (outbound_url_check(m.base_url, d->jobs->config->webhook_allow_private, &err) < 0)
		return (struct channel_outcome){.is_final = true,
		                                .error = arena_text(&d->arena, err.text)};
	return send_message(d, kind, &m);
}

static void end_attempt(struct delivery *d, const struct channel_outcome *o)
{
	const struct config *config = d->jobs->config;
	int64_t tries = d->record.delivery_tries + 1;
	int64_t wait_ms = webhook_wait_ms(config->webhook_retry_ms, tries);
	struct error err = {0};
	struct job_delivery_change end = {
	        .id = d->record.id,
	        .tries = tries,
	        .delivery = JOB_DELIVERY_WAITING,
	        .status = o->status,
	        .at = clock_unix_ms() + (o->wait_ms > wait_ms ? o->wait_ms : wait_ms),
	        .error = o->error,
	};

	if (o->is_delivered)
		end.delivery = JOB_DELIVERY_DELIVERED;
	else if (o->is_final || tries >= config->webhook_tries)
		end.delivery = JOB_DELIVERY_DEAD;
	if (store_job_delivery_end(d->jobs->store, &end, &err) < 0)
		log_warning("a message's end is not noted", TEXT("job", end.id), FAILURE(&err));
	if (end.delivery == JOB_DELIVERY_DEAD)
		log_warning("a message is given up", TEXT("job", end.id),
		            TEXT("channel", job_channel_name(d->record.channel)),
		            TEXT("why", o->error));
}

static bool is_for_good(const struct error *err)
{
	return err->code == ERROR_INVALID || err->code == ERROR_NOT_FOUND ||
	       err->code == ERROR_CONFLICT;
}

static void delivery_free(struct delivery *d)
{
	struct jobs *jobs = d->jobs;

	jobs_remove(jobs, &d->item);
	arena_done(&d->arena);
	free(d);
	atomic_fetch_sub(&jobs->deliveries, 1);
}

static void run_delivery(struct worker_task *task)
{
	struct delivery *d = CONTAINER_OF(task, struct delivery, task);
	struct jobs *jobs = d->jobs;
	const struct job_delivery_change claim = {.id = d->record.id,
	                                          .tries = d->record.delivery_tries,
	                                          .at = clock_unix_ms() + CLAIM_MS};
	struct error unprepared = {0}, err = {0};
	bool is_prepared = prepare_delivery(d, &unprepared) == 0;
	struct channel_outcome o = {.is_final = true, .error = unprepared.text};

	/* A token that this server cannot open is left to a server that can; an unavailable store
	 * means a later attempt. A conflict: another server has the message, or this one since the
	 * list was read. */
	if ((is_prepared || is_for_good(&unprepared)) &&
	    store_job_delivery_claim(jobs->store, &claim, &err) == 0) {
		fault_point("api", "job-message-claimed");
		if (is_prepared)
			o = attempt_delivery(d);
		fault_point("api", "job-message-sent");
		end_attempt(d, &o);
		atomic_store(&jobs->has_ended, true);
	}
	delivery_free(d);
	jobs_ring(jobs);
}

static bool has_room(struct jobs *jobs, const char *project_id)
{
	unsigned of_project = 0;

	pthread_mutex_lock(&jobs->mutex);
	LIST_EACH (&jobs->delivering, const struct delivery, d, item)
		of_project += strcmp(d->record.project_id, project_id) == 0;
	pthread_mutex_unlock(&jobs->mutex);
	return of_project < UNDER_WAY_PROJECT_MAX;
}

static void submit_delivery(struct delivery *d)
{
	struct jobs *jobs = d->jobs;
	struct error err = {0};

	jobs_add(jobs, &jobs->delivering, &d->item);
	if (worker_submit(jobs->workers, &d->task, &err) < 0)
		delivery_free(d);
}

static void begin_delivery(struct jobs *jobs, const struct job_record *r)
{
	struct delivery *d = memory_new(sizeof(*d));
	const struct job_ref ref = {.id = r->id};
	struct error err = {0};

	d->jobs = jobs;
	list_init(&d->item);
	d->task = (struct worker_task){.lane = WORKER_SLOW,
	                               .run = run_delivery,
	                               .shares = {worker_share_id(r->project_id)}};
	atomic_fetch_add(&jobs->deliveries, 1);
	if (store_job_find(jobs->store, &d->arena, &ref, &d->record, &err) == 0)
		submit_delivery(d);
	else
		delivery_free(d);
}

/* After a crash during a delivery it is unknown whether the message arrived. */
static int give_up_lost(struct jobs *jobs, struct error *err)
{
	const struct job_delivery_change lost = {
	        .at = clock_unix_ms(),
	        .error = "the server ended while it was sent: it may have arrived",
	};

	return store_job_deliveries_lost(jobs->store, &lost, err);
}

static int64_t rest_until(int64_t next)
{
	int64_t left = next - clock_unix_ms();

	if (next == 0)
		return deadline_after(REST_MS);
	/* Starts the due deliveries; the end of each wakes the thread. */
	if (left < -LOOK_MIN_MS)
		return deadline_after(DUE_MS);
	if (left < LOOK_MIN_MS)
		left = LOOK_MIN_MS;
	return deadline_after(left < LOOK_MAX_MS ? left : LOOK_MAX_MS);
}

int jobs_deliver(struct jobs *jobs, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct job_list due;
	int64_t next;

	jobs->deliver_at = deadline_after(LOOK_MAX_MS);
	if (give_up_lost(jobs, err) < 0 ||
	    store_job_to_deliver(jobs->store, &arena, clock_unix_ms(), &due, err) < 0)
		return -1;
	for (size_t i = 0; i < due.count && atomic_load(&jobs->deliveries) < UNDER_WAY_MAX; i++)
		if (has_room(jobs, due.items[i].project_id))
			begin_delivery(jobs, &due.items[i]);
	if (store_job_next_delivery(jobs->store, &next, err) < 0)
		return -1;
	jobs->deliver_at = rest_until(next);
	return 0;
}

void job_redelivered(struct jobs *jobs)
{
	atomic_store(&jobs->has_ended, true);
	jobs_ring(jobs);
}
