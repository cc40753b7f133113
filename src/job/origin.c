/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "job/job.h"

/* In the order of enum job_channel. */
static const char *const types[] = {"none", "stream", "webhook", NULL};

static const struct json_member job_origin_shape_members[] = {
        JSON_CHOICE_MEMBER(job_origin, type, .choices = types,
                           .about = "stream: /v1/events, which tells of every job; webhook: "
                                    "agent.finished to the project's webhooks as well"),
        JSON_END,
};
JSON_SHAPE(job_origin_shape, "JobOrigin", job_origin,
           "Where the turn came from, and so where the end of the job is told");

int job_origin_check(const struct job_origin *origin, struct error *err)
{
	(void)origin;
	(void)err;
	return 0;
}

static bool is_conversation_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._:@/+=-", c));
}

int job_conversation_check(const char *conversation, struct error *err)
{
	size_t size = conversation ? strlen(conversation) : 0;

	if (size > JOB_CONVERSATION_MAX)
		return FAIL(err, ERROR_INVALID, "a conversation has at most %d bytes",
		            JOB_CONVERSATION_MAX);
	for (size_t i = 0; i < size; i++) {
		if (is_conversation_byte(conversation[i]))
			continue;
		(void)FAIL(err, ERROR_INVALID, "a conversation's name holds no such byte as 0x%02x",
		           (unsigned char)conversation[i]);
		error_hint(err, "letters, digits and ._:@/+=- are fine");
		return -1;
	}
	return 0;
}
