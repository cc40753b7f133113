/* SPDX-License-Identifier: Apache-2.0 */
#include "job/channel.h"

#include <string.h>

#include "http/client/client.h"
#include "http/client/outbound.h"
#include "job/job.h"
#include "json/json.h"
#include "json/write.h"
#include "store/channels.h"

static void add_member(struct buf *body, const char *name, const char *value)
{
	if (value)
		json_add_text(body, name, value);
}

static void set_common(struct channel_request *r)
{
	r->headers[0] = "Content-Type: application/json; charset=utf-8";
	r->headers[1] = "Accept: application/json";
	r->body = BUF(CHANNEL_BODY_MAX);
	json_begin_object(&r->body, NULL);
}

static const char *escape_text(struct arena *a, const char *text)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	http_escape(&out, text);
	return arena_text(a, buf_text(&out));
}

/* Three characters would start a link, a mention or an entity in Slack. */
static const char *slack_text(struct arena *a, const char *text)
{
	AUTO(buf_done) struct buf out = BUF(CHANNEL_BODY_MAX);

	for (; *text; text++) {
		if (*text == '&')
			buf_add_text(&out, "&amp;");
		else if (*text == '<')
			buf_add_text(&out, "&lt;");
		else if (*text == '>')
			buf_add_text(&out, "&gt;");
		else
			buf_add_byte(&out, *text);
	}
	return arena_text(a, buf_text(&out));
}

static void slack_make(struct arena *a, const struct channel_message *m, struct channel_request *r)
{
	set_common(r);
	r->url = arena_format(a, "%s/api/chat.postMessage", m->base_url);
	r->headers[2] = arena_format(a, "Authorization: Bearer %s", m->token);
	add_member(&r->body, "channel", m->origin->channel);
	add_member(&r->body, "thread_ts", m->origin->thread);
	add_member(&r->body, "text", slack_text(a, m->text));
	json_add_bool(&r->body, "unfurl_links", false);
	json_end_object(&r->body);
}

/* An enforced nonce merges a message that arrives twice within minutes. */
static void discord_make(struct arena *a, const struct channel_message *m,
                         struct channel_request *r)
{
	set_common(r);
	r->url =
	        arena_format(a, "%s/api/v10/channels/%s/messages", m->base_url, m->origin->channel);
	r->headers[2] = arena_format(a, "Authorization: Bot %s", m->token);
	add_member(&r->body, "content", m->text);
	add_member(&r->body, "nonce", m->id);
	json_add_bool(&r->body, "enforce_nonce", true);
	json_begin_object(&r->body, "allowed_mentions");
	json_add_texts(&r->body, "parse", NULL);
	json_end_object(&r->body);
	if (m->origin->message) {
		json_begin_object(&r->body, "message_reference");
		json_add_text(&r->body, "message_id", m->origin->message);
		json_add_bool(&r->body, "fail_if_not_exists", false);
		json_end_object(&r->body);
	}
	json_end_object(&r->body);
}

static void telegram_make(struct arena *a, const struct channel_message *m,
                          struct channel_request *r)
{
	set_common(r);
	r->url = arena_format(a, "%s/bot%s/sendMessage", m->base_url, m->token);
	add_member(&r->body, "chat_id", m->origin->chat);
	add_member(&r->body, "text", m->text);
	if (m->origin->thread)
		json_add_raw(&r->body, "message_thread_id", span_of(m->origin->thread));
	if (m->origin->message) {
		json_begin_object(&r->body, "reply_parameters");
		json_add_raw(&r->body, "message_id", span_of(m->origin->message));
		json_add_bool(&r->body, "allow_sending_without_reply", true);
		json_end_object(&r->body);
	}
	json_begin_object(&r->body, "link_preview_options");
	json_add_bool(&r->body, "is_disabled", true);
	json_end_object(&r->body);
	json_end_object(&r->body);
}

static int64_t telegram_wait_s(const struct json_value *answer)
{
	return json_whole(json_get(json_get(answer, "parameters"), "retry_after"), 0);
}

static void github_make(struct arena *a, const struct channel_message *m, struct channel_request *r)
{
	set_common(r);
	r->url = arena_format(a, "%s/repos/%s/issues/%s/comments", m->base_url,
	                      m->origin->repository, m->origin->issue);
	r->headers[1] = "Accept: application/vnd.github+json";
	r->headers[2] = arena_format(a, "Authorization: Bearer %s", m->token);
	r->headers[3] = "X-GitHub-Api-Version: 2022-11-28";
	add_member(&r->body, "body", m->text);
	json_end_object(&r->body);
}

static void zalo_make(struct arena *a, const struct channel_message *m, struct channel_request *r)
{
	set_common(r);
	r->url = arena_format(a, "%s/v3.0/oa/message/cs", m->base_url);
	r->headers[2] = arena_format(a, "access_token: %s", m->token);
	json_begin_object(&r->body, "recipient");
	json_add_text(&r->body, "user_id", m->origin->user);
	json_end_object(&r->body);
	json_begin_object(&r->body, "message");
	json_add_text(&r->body, "text", m->text);
	json_end_object(&r->body);
	json_end_object(&r->body);
}

static void pancake_make(struct arena *a, const struct channel_message *m,
                         struct channel_request *r)
{
	set_common(r);
	r->url = arena_format(
	        a, "%s/api/public_api/v1/pages/%s/conversations/%s/messages?page_access_token=%s",
	        m->base_url, escape_text(a, m->origin->page), escape_text(a, m->origin->chat),
	        escape_text(a, m->token));
	add_member(&r->body, "action", "reply_inbox");
	add_member(&r->body, "message", m->text);
	json_end_object(&r->body);
}

static bool says_true(const struct json_value *success)
{
	return json_bool(success, false);
}

static bool says_zero(const struct json_value *success)
{
	return json_whole(success, -1) == 0;
}

#define FIELD(name) (1u << ORIGIN_##name)
static const struct channel_kind kinds[] = {
        {JOB_CHANNEL_SLACK, "https://slack.com", FIELD(CHANNEL), FIELD(THREAD), 3900, true,
         slack_make, .success = "ok", .is_success = says_true, .reason = "error"},
        {JOB_CHANNEL_DISCORD, "https://discord.com", FIELD(CHANNEL), FIELD(MESSAGE), 2000, true,
         discord_make},
        {JOB_CHANNEL_TELEGRAM, "https://api.telegram.org", FIELD(CHAT),
         FIELD(THREAD) | FIELD(MESSAGE), 4096, false, telegram_make, .success = "ok",
         .is_success = says_true, .reason = "description", .wait_s = telegram_wait_s},
        {JOB_CHANNEL_GITHUB, "https://api.github.com", FIELD(REPOSITORY) | FIELD(ISSUE), 0, 60000,
         true, github_make},
        {JOB_CHANNEL_ZALO, "https://openapi.zalo.me", FIELD(USER), 0, 2000, false, zalo_make,
         .success = "error", .is_success = says_zero, .reason = "message"},
        {JOB_CHANNEL_PANCAKE, "https://pages.fm", FIELD(PAGE) | FIELD(CHAT), 0, 2000, false,
         pancake_make, .success = "success", .is_success = says_true, .reason = "message"},
};

const struct channel_kind *channel_kind_find(enum job_channel channel)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (kinds[i].channel == channel)
			return &kinds[i];
	return NULL;
}

static int64_t wait_ms_of(int64_t seconds)
{
	if (seconds <= 0)
		return 0;
	return seconds < CHANNEL_WAIT_MAX_MS / 1000 ? seconds * 1000 : CHANNEL_WAIT_MAX_MS;
}

struct channel_outcome channel_judge(struct arena *a, const struct channel_kind *kind, int status,
                                     int64_t retry_after_s, struct span answer)
{
	struct channel_outcome o = {.status = status, .error = ""};
	const struct json_value *value = NULL;
	const char *complaint = NULL;

	if (json_load(a, answer, &value, &(struct error){0}) < 0)
		value = NULL;
	o.is_delivered = status >= 200 && status < 300;
	if (o.is_delivered && kind->success && !kind->is_success(json_get(value, kind->success)))
		complaint = json_text(json_get(value, kind->reason), "it says nothing");
	if (complaint) {
		o.is_delivered = false;
		o.error = arena_format(a, "the service answered: %.150s", complaint);
	} else if (!o.is_delivered) {
		o.error = arena_format(a, "the service answered with status %d", status);
	}
	if (o.is_delivered) {
		o.is_final = true;
		return o;
	}
	if (retry_after_s <= 0 && kind->wait_s)
		retry_after_s = kind->wait_s(value);
	o.wait_ms = wait_ms_of(retry_after_s);
	/* GitHub answers 403 to a client that must wait. */
	o.is_final =
	        o.wait_ms == 0 && status < 500 && status != 408 && status != 425 && status != 429;
	return o;
}

static bool is_name(const char *name)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

	return *name && strlen(name) <= CHANNEL_NAME_MAX && !name[strspn(name, safe)];
}

/* The value becomes part of a header or of a URL. */
static bool is_token(const char *token, bool is_of_url)
{
	size_t size = strlen(token);

	if (size < 8 || size > CHANNEL_TOKEN_MAX)
		return false;
	for (; *token; token++)
		if (*token <= ' ' || *token >= 0x7f || (is_of_url && strchr("/?#%\\", *token)))
			return false;
	return true;
}

int job_channel_check(const struct channel_record *r, bool allow_private, struct error *err)
{
	size_t size = strlen(r->base_url);

	if (!is_name(r->name))
		return FAIL(err, ERROR_INVALID,
		            "a channel's name has up to %d of the characters a-z 0-9 _ -",
		            CHANNEL_NAME_MAX);
	if (!channel_kind_find(r->kind))
		return FAIL(err, ERROR_INVALID, "%s has no messages", job_channel_name(r->kind));
	if (!is_token(r->token, r->kind == JOB_CHANNEL_TELEGRAM))
		return FAIL(err, ERROR_INVALID,
		            "a token has 8 to %d visible ASCII characters, as the service gave it",
		            CHANNEL_TOKEN_MAX);
	if (size == 0)
		return 0;
	if (r->base_url[size - 1] == '/' || strchr(r->base_url, '?'))
		return FAIL(err, ERROR_INVALID, "base_url ends without a slash, and has no query");
	return outbound_url_check(r->base_url, allow_private, err);
}
