/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings of replies: when, which, and for whom not. */
#include <stdio.h>
#include <string.h>

#include "compression/decompress.h"
#include "harness.h"
#include "unit.h"

#define HOST "Host: a\r\n"
#define WHOLE_SIZE 3000

static struct answer answer;

static void add_body(struct reply *reply, const char *type, size_t size)
{
	struct buf *out = reply_buf(reply, type);

	for (size_t i = 0; i < size; i++)
		buf_add_byte(out, "0123456789"[i % 10]);
}

static int reply_long(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                      UNUSED struct error *err)
{
	add_body(reply, "application/json", WHOLE_SIZE);
	return 0;
}

static int reply_short(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                       UNUSED struct error *err)
{
	add_body(reply, "application/json", 1023);
	return 0;
}

static int reply_page(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                      UNUSED struct error *err)
{
	add_body(reply, "text/html", WHOLE_SIZE);
	return 0;
}

static int reply_header_of_path(struct request *rq, UNUSED const void *body, struct reply *reply,
                                UNUSED struct error *err)
{
	reply_header(reply, request_param(rq, "name"), "x");
	add_body(reply, "application/json", WHOLE_SIZE);
	return 0;
}

static const struct route routes[] = {
        {HTTP_GET, "/long", .handle = reply_long},
        {HTTP_GET, "/inline", .flags = ROUTE_INLINE, .handle = reply_long},
        {HTTP_GET, "/progress", .flags = ROUTE_SLOW | ROUTE_PROGRESS, .handle = reply_long},
        {HTTP_GET, "/plain", .flags = ROUTE_PLAIN, .handle = reply_long},
        {HTTP_GET, "/short", .handle = reply_short},
        {HTTP_GET, "/page", .handle = reply_page},
        {HTTP_GET, "/header/:name", .handle = reply_header_of_path},
        {0},
};

static void ask(const struct fixture *f, const char *path, const char *headers)
{
	char request[1024];

	(void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "%s\r\n", path,
	               headers);
	client_ask(f, request, &answer);
	assert_int_equal(answer.status, 200);
}

static bool is_coded(void)
{
	return strstr(answer.head, "Content-Encoding: ") != NULL;
}

static int collect(void *context, struct span bytes, struct error *err)
{
	(void)err;
	buf_add_span(context, bytes);
	return 0;
}

static void assert_whole_again(void)
{
	AUTO(buf_done) struct buf plain = BUF(1 << 20);
	const struct decompressor_options options = {1 << 20, collect, &plain};
	struct decompressor *d = decompressor_new(&options);
	struct error err;

	assert_int_equal(decompressor_write(d, (struct span){answer.body, answer.body_size}, &err),
	                 0);
	assert_int_equal(decompressor_end(d, &err), 0);
	assert_int_equal(plain.size, WHOLE_SIZE);
	decompressor_free(d);
}

TEST(a_long_reply_has_the_coding_that_the_client_likes_best)
{
	static const struct {
		const char *accept, *coding;
	} rows[] = {
	        {"gzip", "gzip"},
	        {"GZIP ; q=0.3", "gzip"},
	        {"*", "gzip"},
	        {"br, zstd", "zstd"},
	        {"deflate, gzip, br, zstd", "zstd"},
	        {"gzip, zstd;q=0.9", "gzip"},
	        {"gzip;q=0, *", NULL},
	        {"zstd;q=0", NULL},
	        {"br;q=1, identity", NULL},
	        {"gzip;q=x", NULL},
	        {"", NULL},
	        {";;,,=;q", NULL},
	};
	struct fixture f;

	fixture_open(&f, routes, NULL);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char header[128], want[64];

		(void)snprintf(header, sizeof(header), "Accept-Encoding: %s\r\n", rows[i].accept);
		ask(&f, "/long", header);
		assert_true(answer_has(&answer, "Vary: Accept-Encoding"));
		assert_int_equal(is_coded(), rows[i].coding != NULL);
		if (!rows[i].coding) {
			assert_int_equal(answer.body_size, WHOLE_SIZE);
			continue;
		}
		(void)snprintf(want, sizeof(want), "Content-Encoding: %s", rows[i].coding);
		assert_true(answer_has(&answer, want));
		assert_whole_again();
	}
	ask(&f, "/inline", "Accept-Encoding: gzip\r\n");
	assert_true(is_coded());
	assert_whole_again();
	fixture_close(&f);
}

TEST(secrets_short_replies_other_types_and_streams_are_left_as_they_are)
{
	static const char *const paths[] = {"/plain",       "/short",
	                                    "/page",        "/header/Set-Cookie",
	                                    "/header/ETag", "/header/Content-Range"};
	struct fixture f;

	fixture_open(&f, routes, NULL);
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		ask(&f, paths[i], "Accept-Encoding: gzip, zstd\r\n");
		assert_false(is_coded());
	}
	ask(&f, "/header/X-Other", "Accept-Encoding: gzip\r\n");
	assert_true(is_coded());
	ask(&f, "/progress", "Accept-Encoding: gzip\r\n");
	assert_true(is_coded());
	fixture_close(&f);
}

int main(void)
{
	return RUN(CASE(a_long_reply_has_the_coding_that_the_client_likes_best),
	           CASE(secrets_short_replies_other_types_and_streams_are_left_as_they_are));
}
