/* SPDX-License-Identifier: Apache-2.0 */
/* Names that sandboxes ask for. They get the addresses of those that are allowed: to use them as if
 * there were no gateway. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/gateway.h"

#define READS_MAX 64 /* at once: others wait for their turn, too */

struct pending_question {
	struct gateway *gateway;
	struct guest *guest;
	struct dns_question asked;
	char text[SANDBOX_HOST_NAME_MAX + 8]; /* what asked.text borrows: name, kind and class */
	struct sockaddr_in from;
};

struct told {
	const struct sockaddr_in *to;
	const struct dns_question *question;
	enum dns_code code;
};

static void send_answer(const struct gateway *g, const struct told *told,
                        const struct dns_addresses *addresses)
{
	AUTO(buf_done) struct buf answer_question = BUF(DNS_SIZE_MAX);

	dns_answer_write(&answer_question, told->question, told->code, addresses);
	if (!answer_question.overflowed)
		(void)!sendto(g->dns_fd, answer_question.data, answer_question.size, MSG_DONTWAIT,
		              (const struct sockaddr *)told->to, sizeof(*told->to));
}

static void on_lookup_end(void *context, enum dns_code code, const struct dns_addresses *addresses)
{
	struct pending_question *q = context;
	const struct told told = {&q->from, &q->asked, code};
	const struct dns_addresses placeholder = {
	        .items = {DNS_PLACEHOLDER}, .count = 1, .ttl_s = addresses->ttl_s};

	send_answer(q->gateway, &told, addresses->count6 > 0 ? &placeholder : addresses);
	q->guest->questions--;
	guest_put(q->gateway, q->guest);
	free(q);
}

/* False: it cannot be asked now. */
static bool look_up_name(struct gateway *g, struct guest *guest,
                         const struct pending_question *like)
{
	struct pending_question *q = malloc(sizeof(*q));
	const struct lookup_options options = {.name = like->asked.name,
	                                       .of_one = &guest->lookups,
	                                       .on_end = on_lookup_end,
	                                       .context = q};

	if (!q)
		abort();
	*q = *like;
	q->gateway = g;
	q->guest = guest;
	memcpy(q->text, like->asked.text.data, like->asked.text.size);
	q->asked.text.data = q->text;
	if (lookup_start(&g->resolver, &options)) {
		guest->questions++;
		return true;
	}
	free(q);
	return false;
}

static void answer_question(struct gateway *g, struct guest *guest,
                            const struct pending_question *q)
{
	static const struct dns_addresses none = {.count = 0};
	struct told told = {&q->from, &q->asked, DNS_OK};
	struct network_decision d = {.code = DECISION_HOST_NOT_ALLOWED,
	                             .protocol = DECISION_DNS,
	                             .port = 53,
	                             .count = 1};

	(void)snprintf(d.host, sizeof(d.host), "%s", q->asked.name);
	if (!rules_allow(g, guest, &d, NULL)) {
		d.verdict = DECISION_DENIED;
		gateway_tell(g, guest, &d, "the name is not allowed");
		told.code = DNS_NO_NAME;
	} else if (dns_question_is_for_address(&q->asked)) {
		if (look_up_name(g, guest, q))
			return;
		told.code = DNS_FAILED;
	}
	send_answer(g, &told, &none);
}

void questions_read(struct gateway *g)
{
	for (unsigned i = 0; i < READS_MAX; i++) {
		struct pending_question q = {.from = {.sin_family = AF_UNSPEC}};
		socklen_t size = sizeof(q.from);
		char data[DNS_SIZE_MAX];
		ssize_t got = recvfrom(g->dns_fd, data, sizeof(data), MSG_DONTWAIT,
		                       (struct sockaddr *)&q.from, &size);
		struct guest *guest;

		if (got < 0)
			return;
		if (!dns_question_parse((struct span){data, (size_t)got}, &q.asked) ||
		    q.asked.text.size > sizeof(q.text) ||
		    !gateway_knows(g, ntohl(q.from.sin_addr.s_addr)))
			continue;
		guest = guest_get(g, ntohl(q.from.sin_addr.s_addr));
		answer_question(g, guest, &q);
		guest_put(g, guest);
	}
}
