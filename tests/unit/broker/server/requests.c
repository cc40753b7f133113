/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bytes.h"
#include "broker/server/requests.h"
#include "unit.h"
#include "wire/broker.h"
#include "wire/broker_sandbox.h"
#include "wire/broker_template.h"

#define ID "abcdefghij234567abcd"

static void encode(struct buf *out, uint16_t type, const struct wire_member *shape,
                   const void *message)
{
	struct error err = {0};

	assert_int_equal(wire_encode(out, type, shape, message, &err), 0);
}

TEST(a_request_comes_back_as_it_was_sent)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf packet = BUF(4096);
	struct broker_id sent = {.request = 7, .sandbox = ID, .grace_ms = 5};
	struct error err = {0};
	struct broker_request r;

	encode(&packet, BROKER_STOP, broker_id_shape, &sent);
	assert_int_equal(request_read(&a, buf_span(&packet), &r, &err), 0);
	assert_int_equal(r.row->type, BROKER_STOP);
	assert_int_equal(r.message.id.request, 7);
	assert_string_equal(r.message.id.sandbox, ID);
	assert_int_equal(r.row->check(&r.message, &err), 0);
}

TEST(every_request_of_the_protocol_has_a_row)
{
	static const uint16_t types[] = {BROKER_HELLO, BROKER_CREATE,  BROKER_START,
	                                 BROKER_STOP,  BROKER_DESTROY, BROKER_LIST,
	                                 BROKER_STATS, BROKER_TEMPLATE};
	static const struct {
		char zeros[256];
	} nothing;
	static const struct wire_member *const shapes[] = {
	        broker_hello_shape, broker_create_shape,  broker_create_shape,
	        broker_id_shape,    broker_id_shape,      broker_id_shape,
	        broker_id_shape,    broker_template_shape};

	for (unsigned i = 0; i < COUNT_OF(types); i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(buf_done) struct buf packet = BUF(4096);
		struct error err = {0};
		struct broker_request r;

		encode(&packet, types[i], shapes[i], &nothing);
		assert_int_equal(request_read(&a, buf_span(&packet), &r, &err), 0);
		assert_int_equal(r.row->type, types[i]);
	}
}

TEST(replies_and_unknown_types_are_not_requests)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf packet = BUF(4096);
	struct broker_ok ok = {.request = 1};
	struct error err = {0};
	struct broker_request r;

	encode(&packet, BROKER_OK, broker_ok_shape, &ok);
	assert_int_equal(request_read(&a, buf_span(&packet), &r, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(a_packet_is_one_whole_frame)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf packet = BUF(4096);
	struct broker_id sent = {.request = 7, .sandbox = ID};
	struct error err = {0};
	struct broker_request r;

	encode(&packet, BROKER_STOP, broker_id_shape, &sent);
	assert_int_equal(request_read(&a, (struct span){packet.data, packet.size - 1}, &r, &err),
	                 -1);
	assert_int_equal(request_read(&a, (struct span){packet.data, 3}, &r, &err), -1);
	assert_int_equal(request_read(&a, (struct span){NULL, 0}, &r, &err), -1);
	buf_add_text(&packet, "x");
	assert_int_equal(request_read(&a, buf_span(&packet), &r, &err), -1);
}

int main(void)
{
	return RUN(CASE(a_request_comes_back_as_it_was_sent),
	           CASE(every_request_of_the_protocol_has_a_row),
	           CASE(replies_and_unknown_types_are_not_requests),
	           CASE(a_packet_is_one_whole_frame));
}
