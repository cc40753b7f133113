/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/refusal.h"

#include <string.h>
#include <strings.h>

#include "json/write.h"
#include "sandbox/decision.h"

#define BODY_MAX 4096

/* Clients show different parts of an answer: wget the phrase, npm the phrase and `error`, git each
 * line of a text. */
#define REFUSED "Refused by sandbox network rules"
static const struct refusal_status {
	int status;
	const char *reason;
} statuses[DECISION_CODE_COUNT] = {
        [DECISION_OK] = {403, REFUSED},
        [DECISION_HOST_NOT_ALLOWED] = {403, REFUSED},
        [DECISION_ADDRESS_DENIED] = {403, REFUSED},
        [DECISION_RANGE_REFUSED] = {403, REFUSED},
        [DECISION_BAD_REQUEST] = {403, REFUSED},
        [DECISION_LIMIT] = {429, "Too many connections of this sandbox"},
        [DECISION_UPSTREAM_UNREACHABLE] = {502, "Host unreachable from this sandbox"},
        [DECISION_RULE_DENIED] = {403, REFUSED},
        [DECISION_HOST_MISMATCH] = {421, REFUSED},
        [DECISION_CREDENTIAL_EXPIRED] = {403, REFUSED},
        [DECISION_UPSTREAM_UNTRUSTED] = {502, "Host not trusted"},
        [DECISION_CLIENT_DISTRUSTS] = {403, REFUSED},
        [DECISION_CREDENTIAL_HOST] = {403, REFUSED},
        [DECISION_UPSTREAM_PROXY_UNREACHABLE] = {502, "Proxy of this server unreachable"},
        [DECISION_UPSTREAM_PROXY_LOGIN] = {502, "Proxy of this server wants a login"},
        [DECISION_UPSTREAM_PROXY_REFUSED] = {502, "Proxy of this server refuses"},
        [DECISION_SOURCE_ADDRESS] = {502, "Source address of the project is missing"},
        [DECISION_DIRECT_REFUSED] = {403, REFUSED},
        [DECISION_QUOTA] = {403, "Quota of sent bytes used up"},
};

static bool is_of_git(struct span head)
{
	static const char field[] = "user-agent: git/";
	struct span line;

	while (head.size > 0) {
		(void)span_split(&head, '\n', &line);
		if (line.size >= sizeof(field) - 1 &&
		    strncasecmp(line.data, field, sizeof(field) - 1) == 0)
			return true;
	}
	return false;
}

static bool may_be_asked(const struct network_decision *d)
{
	return d->code == DECISION_HOST_NOT_ALLOWED || d->code == DECISION_ADDRESS_DENIED;
}

void refusal_add_message(struct buf *out, const struct network_decision *d, const char *more)
{
	char target[DECISION_TARGET_SIZE];

	decision_target(d, target);
	buf_addf(out, "%s: %s from this sandbox (",
	         decision_is_fault(d->code)               ? "Unreachable"
	         : d->code == DECISION_UPSTREAM_UNTRUSTED ? "Not trusted"
	                                                  : "Refused",
	         *d->host ? target : "the connection");
	decision_add_reason(out, d);
	buf_add_text(out, ").");
	if (may_be_asked(d))
		buf_addf(out,
		         " This is policy, not a fault; retrying will not help. To ask: call the "
		         "tool request_access with {\"host\":\"%s\",\"port\":%u,\"reason\":\"…\"}.",
		         d->host, d->port);
	if (more)
		buf_addf(out, " %s.", more);
}

static void write_json(struct buf *out, const struct network_decision *d, const char *message)
{
	json_begin_object(out, NULL);
	json_add_text(out, "error", message);
	json_add_text(out, "message", message);
	json_begin_list(out, "errors");
	json_begin_object(out, NULL);
	json_add_text(out, "code", "DENIED");
	json_add_text(out, "message", message);
	json_end_object(out);
	json_end_list(out);
	json_begin_object(out, "atoll");
	json_add_text(out, "code", decision_codes[d->code]);
	json_add_text(out, "host", d->host);
	json_add_whole(out, "port", d->port);
	json_add_text(out, "rule", *d->rule ? d->rule : NULL);
	json_add_text(out, "ask", may_be_asked(d) ? "request_access" : NULL);
	json_add_bool(out, "retry",
	              !may_be_asked(d) && d->code != DECISION_BAD_REQUEST &&
	                      d->code != DECISION_QUOTA);
	json_end_object(out);
	json_end_object(out);
	buf_add_byte(out, '\n');
}

void refusal_make(struct refusal_answer *ret, const struct network_decision *d, const char *more,
                  bool is_for_git)
{
	AUTO(buf_done) struct buf message = BUF(BODY_MAX);

	*ret = (struct refusal_answer){.status = statuses[d->code].status,
	                               .reason = statuses[d->code].reason,
	                               .content_type =
	                                       is_for_git ? "text/plain" : "application/json",
	                               .code = decision_codes[d->code],
	                               .retry_after = d->code == DECISION_LIMIT ? "1" : NULL,
	                               .body = BUF(BODY_MAX * 4)};
	refusal_add_message(&message, d, more);
	if (is_for_git)
		buf_addf(&ret->body, "%s\n", buf_text(&message));
	else
		write_json(&ret->body, d, buf_text(&message));
}

void refusal_write(struct buf *out, const struct network_decision *d, struct span request_head)
{
	struct refusal_answer r;

	refusal_make(&r, d, NULL, is_of_git(request_head));
	buf_addf(out,
	         "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nCache-Control: no-store\r\n"
	         "X-Atoll-Refused: %s\r\n%s%s%sContent-Length: %zu\r\nConnection: close\r\n\r\n",
	         r.status, r.reason, r.content_type, r.code, r.retry_after ? "Retry-After: " : "",
	         r.retry_after ? r.retry_after : "", r.retry_after ? "\r\n" : "", r.body.size);
	buf_add_span(out, buf_span(&r.body));
	buf_done(&r.body);
}
