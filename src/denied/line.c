/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the file. */
#include <stdio.h>
#include <string.h>

#include "denied/denied.h"
#include "json/write.h"
#include "sandbox/decision.h"
#include "store/decisions.h"

#define MESSAGE_MAX 1024
#define LINE_MAX 4096
#define PREFIX "[network] "

/* The number of a name in a NULL-terminated list; 0 for a name that a newer server wrote. */
static uint8_t find_name(const char *const *names, const char *name)
{
	for (uint8_t i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

static struct network_decision decision_of(const struct decision_record *r)
{
	struct network_decision d = {.port = (uint16_t)r->port,
	                             .code = find_name(decision_codes, r->code),
	                             .protocol = find_name(decision_protocols, r->protocol),
	                             .count = (uint64_t)r->count};

	(void)snprintf(d.host, sizeof(d.host), "%s", r->host);
	(void)snprintf(d.credential, sizeof(d.credential), "%s", r->credential);
	(void)snprintf(d.rule, sizeof(d.rule), "%s", r->rule);
	(void)decision_set_address(&d, r->address);
	return d;
}

/* The line that a model reads, without its mark and newline. */
static void add_message(struct buf *out, const struct network_decision *d)
{
	AUTO(buf_done) struct buf line = BUF(MESSAGE_MAX);
	struct span text;

	decision_add_line(&line, d);
	text = buf_span(&line);
	if (text.size > strlen(PREFIX)) {
		span_skip(&text, strlen(PREFIX));
		text.size--;
	}
	json_add_span(out, "message", text);
}

static void add_ask(struct buf *out, const struct decision_record *r,
                    const struct network_decision *d)
{
	const char *target = *r->host ? r->host : r->address;

	if (!*target ||
	    (d->code != DECISION_HOST_NOT_ALLOWED && d->code != DECISION_ADDRESS_DENIED)) {
		json_add_null(out, "ask");
		return;
	}
	json_begin_object(out, "ask");
	json_add_text(out, "tool", "request_access");
	json_add_text(out, "host", target);
	if (r->port > 0)
		json_add_whole(out, "port", r->port);
	json_end_object(out);
}

static void add_line(struct buf *out, const struct decision_record *r)
{
	const struct network_decision d = decision_of(r);

	json_begin_object(out, NULL);
	json_add_time(out, "at", r->at);
	json_add_text(out, "host", *r->host ? r->host : NULL);
	json_add_text(out, "address", *r->address ? r->address : NULL);
	json_add_whole(out, "port", r->port);
	json_add_text(out, "protocol", r->protocol);
	json_add_text(out, "code", r->code);
	json_add_text(out, "rule", *r->rule ? r->rule : NULL);
	json_add_text(out, "credential", *r->credential ? r->credential : NULL);
	json_add_whole(out, "count", r->count);
	add_message(out, &d);
	add_ask(out, r, &d);
	json_end_object(out);
	buf_add_byte(out, '\n');
}

void denied_add_lines(struct buf *out, const struct decision_list *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		AUTO(buf_done) struct buf line = BUF(LINE_MAX);

		add_line(&line, &rows->items[i]);
		if (!line.overflowed && out->size + line.size <= DENIED_BYTES_MAX)
			buf_add_span(out, buf_span(&line));
	}
}
