/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "egress/egress.h"
#include "egress/query.h"

#define HEAD "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define NAME "\7example\3com\0"
#define BYTES(text) ((struct span){(text), sizeof(text) - 1})

TEST(a_question_is_read_and_answered)
{
	AUTO(buf_done) struct buf query = BUF(DNS_SIZE_MAX), answer = BUF(DNS_SIZE_MAX);
	const struct dns_addresses given = {{0x01020304, 0x05060708}, 2, 60};
	struct dns_addresses found;
	struct dns_question q;
	enum dns_code code;

	dns_query_write(&query,
	                &(struct dns_question){.id = 0x1234, .kind = 1, .name = "www.Example.com"});
	assert_true(dns_question_parse(buf_span(&query), &q));
	assert_int_equal(q.id, 0x1234);
	assert_true(q.wants_recursion && dns_question_is_for_address(&q));
	assert_string_equal(q.name, "www.Example.com");
	dns_answer_write(&answer, &q, DNS_OK, &given);
	assert_true(dns_answer_parse(buf_span(&answer), &q, &code, &found));
	assert_int_equal(code, DNS_OK);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.items[1], 0x05060708);
	assert_int_equal(found.ttl_s, 60);
	/* A question is no answer, and the other way round. */
	assert_false(dns_answer_parse(buf_span(&query), &q, &code, &found));
	assert_false(dns_question_parse(buf_span(&answer), &q));
}

TEST(what_is_no_question_for_a_host_is_passed_over)
{
	static const struct span bad[] = {
	        BYTES(""),
	        BYTES("\x12\x34"),
	        BYTES(HEAD),
	        BYTES(HEAD "\0\0\1\0\1"),    /* of the root */
	        BYTES(HEAD NAME "\0\1\0\3"), /* of another class */
	        BYTES(HEAD NAME "\0\1"),     /* cut */
	        BYTES(HEAD "\x07"
	                   "exam"),                                  /* cut */
	        BYTES(HEAD "\xc0\x0c\0\1\0\1"),                      /* points at itself */
	        BYTES(HEAD "\3a.b\3com\0\0\1\0\1"),                  /* a dot within */
	        BYTES(HEAD "\1\x01\0\0\1\0\1"),                      /* no letter */
	        BYTES("\0\1\x28\0\0\1\0\0\0\0\0\0" NAME "\0\1\0\1"), /* an update */
	        BYTES("\0\1\1\0\0\2\0\0\0\0\0\0" NAME "\0\1\0\1"),   /* two */
	};
	struct dns_question q;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(dns_question_parse(bad[i], &q));
	assert_true(dns_question_parse(BYTES(HEAD NAME "\0\x1c\0\1"), &q));
	assert_false(dns_question_is_for_address(&q));
}

#define ANSWER(count) "\x12\x34\x81\x80\x00\x01\x00" count "\x00\x00\x00\x00" NAME "\0\1\0\1"
#define ADDRESS "\0\1\0\1\0\0\0\5\0\4\1\2\3\4"
static bool answer(struct span text, enum dns_code *code, struct dns_addresses *ret)
{
	const struct dns_question asked = {.id = 0x1234, .kind = 1, .name = "EXAMPLE.com"};

	return dns_answer_parse(text, &asked, code, ret);
}

TEST(addresses_of_an_answer_are_taken_by_way_of_other_names)
{
	struct dns_addresses found;
	enum dns_code code;

	assert_true(answer(BYTES(ANSWER("\2") "\xc0\x0c\0\5\0\1\0\0\0\x3c\0\4\1a\xc0\x14"
	                                      "\1a\xc0\x14" ADDRESS),
	                   &code, &found));
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0], 0x01020304);
	assert_int_equal(found.ttl_s, 5);
	/* One that was cut has what fitted. */
	assert_true(answer(BYTES(ANSWER("\2") "\xc0\x0c" ADDRESS "\xc0\x0c\0\1"), &code, &found));
	assert_int_equal(found.count, 1);
	/* An address of another size is none. */
	assert_true(
	        answer(BYTES(ANSWER("\1") "\xc0\x0c\0\1\0\1\0\0\0\5\0\3\1\2\3"), &code, &found));
	assert_int_equal(found.count, 0);
}

TEST(an_answer_to_something_else_is_none)
{
	struct dns_addresses found;
	enum dns_code code;

	assert_false(
	        answer(BYTES("\x12\x35\x81\x80\0\1\0\0\0\0\0\0" NAME "\0\1\0\1"), &code, &found));
	assert_false(
	        answer(BYTES("\x12\x34\x81\x80\0\1\0\0\0\0\0\0" NAME "\0\x1c\0\1"), &code, &found));
	assert_false(
	        answer(BYTES("\x12\x34\x81\x80\0\1\0\0\0\0\0\0\3com\0\0\1\0\1"), &code, &found));
	assert_true(
	        answer(BYTES("\x12\x34\x81\x83\0\1\0\0\0\0\0\0" NAME "\0\1\0\1"), &code, &found));
	assert_int_equal(code, DNS_NO_NAME);
}

TEST(ipv6_addresses_are_taken_where_they_were_asked_for)
{
	static const char record[] = "\0\x1c\0\1\0\0\0\7\0\x10\x26\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x09";
	const struct dns_question asked = {.id = 0x1234, .kind = 28, .name = "example.com"};
	AUTO(buf_done) struct buf text = BUF(DNS_SIZE_MAX), query = BUF(DNS_SIZE_MAX);
	struct dns_addresses found;
	struct dns_question q;
	enum dns_code code;

	dns_query_write(&query, &asked);
	assert_true(dns_question_parse(buf_span(&query), &q));
	assert_int_equal(q.kind, 28);
	buf_add(&text, "\x12\x34\x81\x80\0\1\0\x0a\0\0\0\0" NAME "\0\x1c\0\1",
	        12 + sizeof(NAME) - 1 + 4);
	/* Those of IPv4 among them are none that were asked for. */
	buf_add(&text, "\xc0\x0c" ADDRESS, sizeof("\xc0\x0c" ADDRESS) - 1);
	for (unsigned i = 0; i < 9; i++) {
		buf_add(&text, "\xc0\x0c", 2);
		buf_add(&text, record, sizeof(record) - 1);
	}
	assert_true(dns_answer_parse(buf_span(&text), &asked, &code, &found));
	assert_int_equal(found.count, 0);
	assert_int_equal(found.count6, DNS_ADDRESSES_MAX);
	assert_int_equal(found.ttl_s, 7);
	assert_int_equal(found.items6[7].bytes[0], 0x26);
	assert_int_equal(found.items6[7].bytes[15], 9);
	/* A record of another size is none. */
	text.data[12 + sizeof(NAME) - 1 + 4 + 16 + 2 + 9] = 15;
	assert_true(dns_answer_parse(buf_span(&text), &asked, &code, &found));
	assert_int_equal(found.count6, 0);
	assert_false(answer(buf_span(&text), &code, &found));
}

TEST(as_many_addresses_as_there_may_be_are_taken)
{
	AUTO(buf_done) struct buf text = BUF(DNS_SIZE_MAX);
	struct dns_addresses found;
	enum dns_code code;

	buf_add(&text, ANSWER("\x20"), sizeof(ANSWER("\x20")) - 1);
	for (unsigned i = 0; i < 32; i++)
		buf_add(&text, "\xc0\x0c" ADDRESS, sizeof("\xc0\x0c" ADDRESS) - 1);
	assert_true(answer(buf_span(&text), &code, &found));
	assert_int_equal(found.count, DNS_ADDRESSES_MAX);
}

TEST(nameservers_of_a_host_are_found)
{
	char found[EGRESS_NAMESERVERS_SIZE];

	egress_nameservers(
	        SPAN("# x\nsearch a.b\nnameserver 127.0.0.53\nnameserver ::1\n"
	             "nameserver 10.0.0.0/8\nnameserver\t9.9.9.9\nnameserver 8.8.8.8 # y\n"
	             "nameserver 255.255.255.255\nnameserver 1.1.1.1\n"),
	        found);
	assert_string_equal(found, "127.0.0.53,8.8.8.8,255.255.255.255");
	egress_nameservers(SPAN(""), found);
	assert_string_equal(found, "");
}

int main(void)
{
	return RUN(CASE(a_question_is_read_and_answered),
	           CASE(what_is_no_question_for_a_host_is_passed_over),
	           CASE(addresses_of_an_answer_are_taken_by_way_of_other_names),
	           CASE(an_answer_to_something_else_is_none),
	           CASE(ipv6_addresses_are_taken_where_they_were_asked_for),
	           CASE(as_many_addresses_as_there_may_be_are_taken),
	           CASE(nameservers_of_a_host_are_found));
}
