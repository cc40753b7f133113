/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "egress/look.h"

static void put(struct buf *out, unsigned size, size_t number)
{
	while (size-- > 0)
		buf_add_byte(out, (char)(number >> 8 * size & 255));
}

/* An extension with a list of one name. */
static void add_name(struct buf *out, const char *name, unsigned kind)
{
	size_t size = strlen(name);

	put(out, 2, 0);
	put(out, 2, size + 5);
	put(out, 2, size + 3);
	put(out, 1, kind);
	put(out, 2, size);
	buf_add_text(out, name);
}

/* A hello with these extensions, in records of `piece` bytes. */
static void make(struct buf *out, const struct buf *extensions, size_t piece)
{
	AUTO(buf_done) struct buf message = BUF(LOOK_BYTES_MAX);
	struct span rest;

	put(&message, 1, 1);
	put(&message, 3, 2 + 32 + 1 + 4 + 2 + (extensions ? 2 + extensions->size : 0));
	put(&message, 2, 0x0303);
	for (unsigned i = 0; i < 32; i++)
		put(&message, 1, i);
	put(&message, 1, 0);
	put(&message, 2, 2);
	put(&message, 2, 0x1301);
	put(&message, 1, 1);
	put(&message, 1, 0);
	if (extensions) {
		put(&message, 2, extensions->size);
		buf_add_span(&message, buf_span(extensions));
	}
	rest = buf_span(&message);
	while (rest.size > 0) {
		size_t size = rest.size < piece ? rest.size : piece;

		put(out, 1, 22);
		put(out, 2, 0x0301);
		put(out, 2, size);
		buf_add(out, rest.data, size);
		rest = (struct span){rest.data + size, rest.size - size};
	}
}

static enum host_name_result look_at(const struct buf *extensions, size_t piece,
                                     struct host_name *ret)
{
	AUTO(buf_done) struct buf hello = BUF(4 * LOOK_BYTES_MAX);

	make(&hello, extensions, piece);
	return hello_look(buf_span(&hello), ret);
}

static void refused(const struct buf *extensions, const char *why)
{
	struct host_name looked;

	assert_int_equal(look_at(extensions, 16384, &looked), LOOK_REFUSED);
	assert_string_equal(looked.refusal, why);
}

TEST(the_server_name_is_found_however_it_is_cut)
{
	AUTO(buf_done) struct buf extensions = BUF(1024), hello = BUF(4096);
	static const size_t pieces[] = {16384, 64, 7, 1};
	struct host_name looked;

	put(&extensions, 2, 0x2a2a);
	put(&extensions, 2, 1);
	put(&extensions, 1, 0);
	add_name(&extensions, "Sub.example.com", 0);
	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		buf_reset(&hello);
		make(&hello, &extensions, pieces[i]);
		/* Not before all of it is there, and never wrongly. */
		for (size_t size = 0; size < hello.size; size++)
			assert_int_equal(hello_look((struct span){hello.data, size}, &looked),
			                 LOOK_MORE);
		assert_int_equal(hello_look(buf_span(&hello), &looked), LOOK_FOUND);
		assert_string_equal(looked.name, "Sub.example.com");
	}
	/* What comes at once behind it is the server's to read. */
	buf_add(&hello, "\x14\3\3\0\1\1", 6);
	assert_int_equal(hello_look(buf_span(&hello), &looked), LOOK_FOUND);
}

TEST(no_name_and_two_of_them_are_refused)
{
	AUTO(buf_done) struct buf extensions = BUF(1024);

	refused(NULL, "it has no server name");
	refused(&extensions, "it has no server name");
	add_name(&extensions, "a.example.com", 0);
	add_name(&extensions, "b.example.com", 0);
	refused(&extensions, "it has two server names");
}

TEST(what_is_no_name_of_a_host_is_refused)
{
	static const char *const names[] = {"",      "1.2.3.4",      "a b",   "example.com.",
	                                    "a..b",  "\xc3\xa4.com", "[::1]", "*.example.com",
	                                    "-a.com"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		AUTO(buf_done) struct buf extensions = BUF(1024);

		add_name(&extensions, names[i], 0);
		refused(&extensions, "its server name is no host's name");
	}
}

TEST(a_list_of_names_that_is_not_one_host_is_refused)
{
	AUTO(buf_done) struct buf kind = BUF(1024), more = BUF(1024), cut = BUF(1024);

	add_name(&kind, "example.com", 1);
	refused(&kind, "its server name is malformed");
	/* Two in one list. */
	put(&more, 2, 0);
	put(&more, 2, 10);
	put(&more, 2, 8);
	buf_add(&more, "\0\0\1a\0\0\1b", 8);
	refused(&more, "its server name is malformed");
	put(&cut, 2, 0);
	put(&cut, 2, 3);
	put(&cut, 2, 9);
	put(&cut, 1, 0);
	refused(&cut, "its server name is malformed");
	put(&cut, 1, 0);
	refused(&cut, "its server name is malformed");
}

TEST(what_is_not_tls_is_refused_by_its_first_bytes)
{
	static const char *const starts[] = {"GET / HTTP/1.1\r\n", "SSH-2.0", "\x80\x2e\x01",
	                                     "\x16\x02\x01", "\x17\x03\x03"};
	struct host_name looked;

	for (size_t i = 0; i < COUNT_OF(starts); i++)
		assert_int_equal(hello_look(span_of(starts[i]), &looked), LOOK_REFUSED);
	/* A record of nothing, and a message that is another one. */
	assert_int_equal(hello_look((struct span){"\x16\3\1\0\0", 5}, &looked), LOOK_REFUSED);
	assert_int_equal(hello_look((struct span){"\x16\3\1\0\1\2", 6}, &looked), LOOK_REFUSED);
}

TEST(one_that_is_too_large_is_refused_and_not_waited_for)
{
	AUTO(buf_done) struct buf padding = BUF(LOOK_BYTES_MAX), hello = BUF(LOOK_BYTES_MAX);
	struct host_name looked;

	assert_int_equal(hello_look((struct span){"\x16\3\1\x40\0\1\xff\0\0", 9}, &looked),
	                 LOOK_REFUSED);
	put(&padding, 2, 21);
	put(&padding, 2, 9000);
	for (unsigned i = 0; i < 9000; i++)
		put(&padding, 1, 0);
	/* In records of one byte it has six times its size. */
	assert_int_equal(look_at(&padding, 1, &looked), LOOK_REFUSED);
	assert_string_equal(looked.refusal, "its ClientHello is too large");
	assert_int_equal(hello.size, 0);
}

int main(void)
{
	return RUN(CASE(the_server_name_is_found_however_it_is_cut),
	           CASE(no_name_and_two_of_them_are_refused),
	           CASE(what_is_no_name_of_a_host_is_refused),
	           CASE(a_list_of_names_that_is_not_one_host_is_refused),
	           CASE(what_is_not_tls_is_refused_by_its_first_bytes),
	           CASE(one_that_is_too_large_is_refused_and_not_waited_for));
}
