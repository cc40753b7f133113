/* SPDX-License-Identifier: Apache-2.0 */
#include "decision/watch.h"

#include <stdio.h>

#include "decision/decision.h"
#include "json/json.h"
#include "json/write.h"

#define ADDRESS_SIZE 16

static const struct json_member network_refusal_shape_members[] = {
        JSON_TEXT_MEMBER(network_refusal, host, .flags = JSON_NULLABLE,
                         .about = "null: only the address is known"),
        JSON_TEXT_MEMBER(network_refusal, address, .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(network_refusal, port, .about = "0: none"),
        JSON_TEXT_MEMBER(network_refusal, protocol, .about = "tls, http, dns, tcp, udp or other"),
        JSON_TEXT_MEMBER(
                network_refusal, code,
                .about = "host-not-allowed, address-denied, range-refused, bad-request, "
                         "limit, upstream-unreachable, "
                         "upstream-proxy-unreachable, upstream-proxy-login, "
                         "upstream-proxy-refused, source-address-missing, direct-refused or "
                         "quota"),
        JSON_TEXT_MEMBER(network_refusal, rule, .flags = JSON_NULLABLE,
                         .about = "the entry of the rules that decided"),
        JSON_WHOLE_MEMBER(network_refusal, count),
        JSON_TEXT_MEMBER(network_refusal, message, .about = "for people and models"),
};
JSON_SHAPE(network_refusal_shape, "NetworkRefusal", network_refusal,
           "A connection that the sandbox's network rules refused");

struct decision_watch decision_watch_begin(struct arena *a, struct decision_log *log,
                                           const char *sandbox, const char *egress)
{
	if (!log || ((!egress || !*egress) && !decision_log_is_for_all(log)))
		return (struct decision_watch){0};
	if (!egress)
		egress = "";
	return (struct decision_watch){.log = log,
	                               .sandbox = sandbox,
	                               .denials = arena_text(a, sandbox_egress_denials(egress)),
	                               .mark = decision_mark(log)};
}

void decision_watch_end(const struct decision_watch *w, struct decision_refusals *ret)
{
	ret->count = decisions_since(w->log, w->sandbox, w->mark, ret->items, DECISION_WATCH_MAX);
	for (size_t i = 0; i < ret->count; i++)
		decision_find_rule(&ret->items[i], w->denials);
}

static struct network_refusal refusal_of(struct arena *a, const struct network_decision *d)
{
	AUTO(buf_done) struct buf line = BUF(1024);
	char address[ADDRESS6_TEXT_SIZE];

	decision_add_line(&line, d);
	decision_address(d, address);
	return (struct network_refusal){
	        .host = *d->host ? d->host : NULL,
	        .address = *address ? arena_text(a, address) : NULL,
	        .port = d->port,
	        .protocol = decision_protocols[d->protocol],
	        .code = decision_codes[d->code],
	        .rule = *d->rule ? d->rule : NULL,
	        .count = (int64_t)d->count,
	        /* Without the newline. */
	        .message =
	                arena_copy(a, (struct span){line.data, line.size > 0 ? line.size - 1 : 0}),
	};
}

void decision_refusals_write(struct buf *out, const struct decision_refusals *r)
{
	AUTO(arena_done) struct arena arena = {0};

	if (r->count == 0)
		return;
	json_begin_list(out, "network");
	for (size_t i = 0; i < r->count; i++) {
		const struct network_refusal item = refusal_of(&arena, &r->items[i]);

		json_add_struct(out, NULL, &network_refusal_shape, &item);
	}
	json_end_list(out);
}

struct json_list decision_refusals_list(struct arena *a, const struct decision_refusals *r)
{
	struct decision_refusals *kept = ARENA_NEW(a, struct decision_refusals);
	struct network_refusal *items = ARENA_ARRAY(a, struct network_refusal, r->count + 1);

	*kept = *r;
	for (size_t i = 0; i < kept->count; i++)
		items[i] = refusal_of(a, &kept->items[i]);
	return (struct json_list){items, kept->count, true};
}

void decision_refusals_lines(struct buf *out, const struct decision_refusals *r)
{
	for (size_t i = 0; i < r->count; i++)
		decision_add_line(out, &r->items[i]);
}
