/* SPDX-License-Identifier: Apache-2.0 */
/* job/channel.h — how a message is sent to each chat service: a row per service. Private to this
 * folder; pure.
 *
 * A row says what an origin must name, how long a message may be, how the request is made, and what
 * of its answer is a success: services that answer 200 to a failure say so in the body. */
#pragma once

#include "base/bytes.h"
#include "store/jobs.h"

struct job_origin;

enum origin_field {
	ORIGIN_CHANNEL,
	ORIGIN_THREAD,
	ORIGIN_MESSAGE,
	ORIGIN_CHAT,
	ORIGIN_USER,
	ORIGIN_PAGE,
	ORIGIN_REPOSITORY,
	ORIGIN_ISSUE,
};

/* What is to be sent. */
struct channel_message {
	const struct job_origin *origin;
	const char *base_url, *token;
	const char *id;   /* of the job: a name for the message, where a service has use for one */
	const char *text; /* as long as the service takes */
};
struct json_value;

struct channel_request {
	const char *url;
	const char *headers[6]; /* NULL-terminated */
	struct buf body;
};
#define CHANNEL_BODY_MAX ((size_t)1 << 20)

struct channel_kind {
	enum job_channel channel;
	const char *base_url;
	unsigned needs, takes; /* 1 << enum origin_field */
	size_t text_max;       /* UTF-16 units, which the shortest of them count in */
	bool has_fences;       /* ``` begins and ends what is shown as it is */
	void (*make)(struct arena *a, const struct channel_message *m, struct channel_request *ret);
	/* The members of an answer with a status of 200 to 299 that say whether it succeeded, and
	 * why not. NULL: every such answer is a success. */
	const char *success;
	bool (*is_success)(const struct json_value *success);
	const char *reason;
	/* Seconds to wait by an answer that refuses for now, where it does not say so by
	 * Retry-After alone; NULL, or 0: it says nothing. */
	int64_t (*wait_s)(const struct json_value *answer);
};
/* NULL for what is no chat. */
const struct channel_kind *channel_kind_find(enum job_channel channel);

/* How an attempt went. */
struct channel_outcome {
	int status; /* 0: no answer came */
	bool is_delivered;
	bool is_final;   /* another try would change nothing */
	int64_t wait_ms; /* as the service asks for; 0: it does not */
	const char *error;
};
#define CHANNEL_WAIT_MAX_MS ((int64_t)3600 * 1000)
/* Of an answer: `retry_after_s` is its Retry-After, or 0. */
struct channel_outcome channel_judge(struct arena *a, const struct channel_kind *kind, int status,
                                     int64_t retry_after_s, struct span answer);

/* In UTF-16 units. */
size_t channel_text_units(const char *text);
/* What a person is told of an end, in at most kind->text_max units. */
const char *channel_text(struct arena *a, const struct channel_kind *kind,
                         const struct job_record *r);
