/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "job/channel.h"
#include "job/job.h"
#include "json/json.h"

#define VALUE_MAX 128

/* In the order of enum job_channel. */
static const char *const types[] = {"none",     "stream", "webhook", "slack",   "discord",
                                    "telegram", "github", "zalo",    "pancake", NULL};

static const struct json_member job_origin_shape_members[] = {
        JSON_CHOICE_MEMBER(job_origin, type, .choices = types,
                           .about = "stream: /v1/events, which tells of every job; webhook: "
                                    "agent.finished to the project's webhooks as well; else "
                                    "a message there"),
        JSON_TEXT_MEMBER(job_origin, credential, .max = CHANNEL_NAME_MAX, .flags = JSON_OMIT_EMPTY,
                         .about = "of /v1/channels; else the one named as the type"),
        JSON_TEXT_MEMBER(job_origin, channel, .max = VALUE_MAX, .flags = JSON_OMIT_EMPTY,
                         .about = "slack, discord: its id"),
        JSON_TEXT_MEMBER(job_origin, thread, .max = VALUE_MAX, .flags = JSON_OMIT_EMPTY,
                         .about = "slack: ts of its first message; telegram: number of the topic"),
        JSON_TEXT_MEMBER(job_origin, message, .max = VALUE_MAX, .flags = JSON_OMIT_EMPTY,
                         .about = "discord, telegram: id of the one to reply to"),
        JSON_TEXT_MEMBER(job_origin, chat, .max = VALUE_MAX, .flags = JSON_OMIT_EMPTY,
                         .about = "telegram: its id or @name; pancake: id of the conversation"),
        JSON_TEXT_MEMBER(job_origin, user, .max = VALUE_MAX, .flags = JSON_OMIT_EMPTY,
                         .about = "zalo: id of the user"),
        JSON_TEXT_MEMBER(job_origin, page, .max = VALUE_MAX, .flags = JSON_OMIT_EMPTY,
                         .about = "pancake: id of the page"),
        JSON_TEXT_MEMBER(job_origin, repository, .max = VALUE_MAX, .flags = JSON_OMIT_EMPTY,
                         .about = "github: OWNER/NAME"),
        JSON_TEXT_MEMBER(job_origin, issue, .max = 20, .flags = JSON_OMIT_EMPTY,
                         .about = "github: number of the issue or pull request"),
};
JSON_SHAPE(job_origin_shape, "JobOrigin", job_origin,
           "Where the turn came from, and so where the end of the job is told");

static const struct field {
	const char *name;
	size_t offset;
} fields[] = {
        [ORIGIN_CHANNEL] = {"channel", offsetof(struct job_origin, channel)},
        [ORIGIN_THREAD] = {"thread", offsetof(struct job_origin, thread)},
        [ORIGIN_MESSAGE] = {"message", offsetof(struct job_origin, message)},
        [ORIGIN_CHAT] = {"chat", offsetof(struct job_origin, chat)},
        [ORIGIN_USER] = {"user", offsetof(struct job_origin, user)},
        [ORIGIN_PAGE] = {"page", offsetof(struct job_origin, page)},
        [ORIGIN_REPOSITORY] = {"repository", offsetof(struct job_origin, repository)},
        [ORIGIN_ISSUE] = {"issue", offsetof(struct job_origin, issue)},
};

static const char *value_of(const struct job_origin *origin, const struct field *f)
{
	return *(const char *const *)(const void *)((const char *)origin + f->offset);
}

static bool is_digits(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* The values become parts of URLs, so they contain no separator and no "..". */
static bool is_part(const char *text)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                           "0123456789_.@:-";

	return *text && !text[strspn(text, safe)] && text[strspn(text, ".")];
}

static bool is_repository(const char *text)
{
	const char *slash = strchr(text, '/');
	char owner[VALUE_MAX + 1];

	if (!slash || slash - text > VALUE_MAX)
		return false;
	memcpy(owner, text, (size_t)(slash - text));
	owner[slash - text] = '\0';
	return is_part(owner) && is_part(slash + 1);
}

static bool is_right(enum origin_field which, enum job_channel channel, const char *value)
{
	if (which == ORIGIN_REPOSITORY)
		return is_repository(value);
	if (which == ORIGIN_ISSUE || channel == JOB_CHANNEL_DISCORD)
		return is_digits(value);
	/* Telegram expects numbers here. */
	if (channel == JOB_CHANNEL_TELEGRAM && which != ORIGIN_CHAT)
		return is_digits(value);
	return is_part(value);
}

int job_origin_check(const struct job_origin *origin, struct error *err)
{
	const char *type = types[origin->type];
	const struct channel_kind *kind = channel_kind_find((enum job_channel)origin->type);

	for (unsigned i = 0; i < COUNT_OF(fields); i++) {
		const char *value = value_of(origin, &fields[i]);
		bool is_needed = kind && kind->needs & 1u << i;
		bool is_taken = is_needed || (kind && kind->takes & 1u << i);

		if (!value && is_needed)
			return FAIL(err, ERROR_INVALID, "origin: %s needs %s", type,
			            fields[i].name);
		if (value && !is_taken)
			return FAIL(err, ERROR_INVALID, "origin: %s takes no %s", type,
			            fields[i].name);
		if (value && !is_right((enum origin_field)i, (enum job_channel)origin->type, value))
			return FAIL(err, ERROR_INVALID, "origin: '%.40s' is no %s of %s", value,
			            fields[i].name, type);
	}
	if (origin->credential && !kind)
		return FAIL(err, ERROR_INVALID, "origin: %s takes no credential", type);
	return 0;
}

const char *job_origin_credential(const struct job_origin *origin)
{
	return origin->credential ? origin->credential : types[origin->type];
}
