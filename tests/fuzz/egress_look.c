/* SPDX-License-Identifier: Apache-2.0 */
/* What sandboxes send to the gateway for names: TLS, HTTP, DNS; and what a proxy answers. What is
 * taken for a name is one; what comes in two pieces is understood as the whole is; what is sent on
 * is understood as the same. */
#include "egress/look.h"

#include <assert.h>
#include <string.h>

#include "egress/query.h"
#include "egress/upstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_hello(struct span bytes)
{
	struct host_name looked, before;
	enum host_name_result look = hello_look(bytes, &looked);

	if (look == LOOK_FOUND)
		assert(host_name_is_valid(span_of(looked.name)));
	if (bytes.size == 0 || bytes.size > LOOK_BYTES_MAX)
		return;
	bytes.size--;
	/* What is decided stays so. */
	if (hello_look(bytes, &before) == LOOK_FOUND)
		assert(look == LOOK_FOUND && strcmp(before.name, looked.name) == 0);
}

static void read_body(struct body body, struct span bytes)
{
	struct body again = body;
	ssize_t whole = body_take(&body, bytes), first, second;

	assert(whole <= (ssize_t)bytes.size);
	first = body_take(&again, (struct span){bytes.data, bytes.size / 2});
	if (first < 0 || whole < 0 || first < (ssize_t)(bytes.size / 2))
		return;
	second = body_take(&again, (struct span){bytes.data + first, bytes.size - (size_t)first});
	assert(second >= 0 && first + second == whole && again.state == body.state);
}

static void read_request(struct span bytes)
{
	AUTO(buf_done) struct buf out = BUF(4 * LOOK_BYTES_MAX);
	struct host_name looked, again;
	struct body body, body_again;
	size_t head, head_again;

	if (request_look(bytes, &looked, &head, &body) != LOOK_FOUND)
		return;
	assert(head <= bytes.size && host_name_is_valid(span_of(looked.name)));
	read_body(body, (struct span){bytes.data + head, bytes.size - head});
	request_pass((struct span){bytes.data, head}, &out);
	assert(!out.overflowed);
	if (out.size > LOOK_BYTES_MAX)
		return;
	if (request_look(buf_span(&out), &again, &head_again, &body_again) == LOOK_REFUSED) {
		/* It has a field more. */
		assert(strcmp(again.refusal, "it has too many header fields") == 0);
		return;
	}
	assert(head_again == out.size && strcmp(looked.name, again.name) == 0);
	assert(body.state == body_again.state && body.left == body_again.left);
}

static void read_dns(struct span bytes)
{
	AUTO(buf_done) struct buf out = BUF(DNS_SIZE_MAX);
	struct dns_addresses found = {.count = 0};
	struct dns_question q;
	enum dns_code code;

	if (dns_question_parse(bytes, &q)) {
		assert(host_name_is_valid(span_of(q.name)));
		dns_answer_write(&out, &q, DNS_OK, &found);
		assert(!out.overflowed);
	}
	q = (struct dns_question){.id = 0x1234, .kind = 1, .name = "example.com"};
	if (dns_answer_parse(bytes, &q, &code, &found))
		assert(found.count <= DNS_ADDRESSES_MAX && found.count6 == 0);
	q.kind = DNS_KIND_AAAA;
	if (dns_answer_parse(bytes, &q, &code, &found))
		assert(found.count6 <= DNS_ADDRESSES_MAX && found.count == 0);
}

/* What is decided does not depend on the bytes that follow. */
static void read_proxy_answer(struct span bytes)
{
	size_t size = 0, again = 0;
	int status = 0;
	enum upstream_answer answer = upstream_read(bytes, &size, &status);

	if (answer != UPSTREAM_OPEN && answer != UPSTREAM_REFUSED)
		return;
	assert(size > 0 && size <= bytes.size && size <= UPSTREAM_HEAD_MAX);
	assert(upstream_read((struct span){bytes.data, size}, &again, &status) == answer);
	assert(again == size);
	assert(upstream_read((struct span){bytes.data, size - 1}, &again, &status) ==
	       UPSTREAM_MORE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span bytes = {(const char *)data, size};

	if (size > 4 * LOOK_BYTES_MAX)
		return 0;
	read_hello(bytes);
	read_request(bytes);
	read_proxy_answer(bytes);
	if (size <= DNS_SIZE_MAX)
		read_dns(bytes);
	return 0;
}
