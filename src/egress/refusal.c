/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/refusal.h"

#include <string.h>
#include <strings.h>

#include "json/write.h"
#include "sandbox/decision.h"

#define BODY_MAX 4096

/* Clients show different parts of an answer: wget the phrase, npm the phrase and `error`, git each
 * line of a text. */
static const char *status_of(const struct network_decision *d)
{
	switch ((enum decision_code)d->code) {
	case DECISION_UPSTREAM_UNREACHABLE:
		return "502 Host unreachable from this sandbox";
	case DECISION_LIMIT:
		return "429 Too many connections of this sandbox";
	case DECISION_UPSTREAM_UNTRUSTED:
		return "502 Host not trusted";
	case DECISION_HOST_MISMATCH:
		return "421 Refused by sandbox network rules";
	case DECISION_OK:
	case DECISION_RULE_DENIED:
	case DECISION_CREDENTIAL_EXPIRED:
	case DECISION_CLIENT_DISTRUSTS:
	case DECISION_HOST_NOT_ALLOWED:
	case DECISION_ADDRESS_DENIED:
	case DECISION_RANGE_REFUSED:
	case DECISION_BAD_REQUEST:
	case DECISION_CODE_COUNT:
		break;
	}
	return "403 Refused by sandbox network rules";
}

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

static void add_message(struct buf *out, const struct network_decision *d, const char *target)
{
	buf_addf(out, "%s: %s from this sandbox (",
	         d->code == DECISION_UPSTREAM_UNREACHABLE ? "Unreachable"
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
	json_add_bool(out, "retry", !may_be_asked(d) && d->code != DECISION_BAD_REQUEST);
	json_end_object(out);
	json_end_object(out);
	buf_add_byte(out, '\n');
}

void refusal_write(struct buf *out, const struct network_decision *d, struct span request_head)
{
	AUTO(buf_done) struct buf message = BUF(BODY_MAX), body = BUF(BODY_MAX * 4);
	char target[DECISION_TARGET_SIZE];
	bool is_plain = is_of_git(request_head);

	decision_target(d, target);
	add_message(&message, d, target);
	if (is_plain)
		buf_addf(&body, "%s\n", buf_text(&message));
	else
		write_json(&body, d, buf_text(&message));
	buf_addf(out,
	         "HTTP/1.1 %s\r\nContent-Type: %s\r\nCache-Control: no-store\r\n"
	         "X-Atoll-Refused: %s\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n",
	         status_of(d), is_plain ? "text/plain" : "application/json",
	         decision_codes[d->code], d->code == DECISION_LIMIT ? "Retry-After: 1\r\n" : "",
	         body.size);
	buf_add_span(out, buf_span(&body));
}
