/* SPDX-License-Identifier: Apache-2.0 */
/* What a proxy passes on: trailers, and ends of one direction. The test holds the server's end. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/bytes.h"
#include "http/proxy/proxy.h"
#include "http/server/relay.h"
#include "unit.h"
#include "unit/http/server/harness.h"

#define HOST "Host: a\r\n"
#define UPGRADE_TO(protocol) "Connection: Upgrade\r\nUpgrade: " protocol "\r\n"
#define UPGRADE UPGRADE_TO("raw")
#define PATIENCE_S 10
#define LARGE ((size_t)4 << 20)
#define TABLE_SIZE ((size_t)32 << 20)

static struct fixture fixture;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int server_fd;
static unsigned released;
static struct answer answer;
static struct span prefix; /* of what is seen below a path */

static void answer_failure(void *state, struct relay *relay, int status, const struct error *err)
{
	(void)state;
	relay_answer(relay, status, "text/plain", span_of(err->text));
}

static void release(void *state)
{
	(void)state;
	pthread_mutex_lock(&mutex);
	released++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

static const struct proxy_ops ops = {.fail = answer_failure, .release = release};

static int serve(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	static const char *const withheld[] = {"X-Secret", NULL};
	int fds[2];

	(void)body;
	(void)err;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	reply_proxy(rq, reply,
	            &(struct proxy_options){.place = "box:8000",
	                                    .upstream_fd = fds[0],
	                                    .target = rq->raw_path,
	                                    .prefix = prefix,
	                                    .is_boxed = prefix.size > 0,
	                                    .port = 8000,
	                                    .withheld = withheld,
	                                    .ops = &ops});
	pthread_mutex_lock(&mutex);
	server_fd = fds[1];
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	return 0;
}

static const struct route routes[] = {
        {HTTP_ANY, "/*rest", .flags = ROUTE_PUBLIC | ROUTE_STREAM_BODY, .handle = serve},
        {0},
};

/* The client's end; *ret_server is the server's, which has read the head into answer.body. */
static int ask(const char *request, int *ret_server)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	size_t size = 0;
	int fd;

	server_fd = -1;
	released = 0;
	fixture_open(&fixture, routes, NULL);
	fd = client_connect(&fixture);
	client_send(fd, request);
	pthread_mutex_lock(&mutex);
	while (server_fd < 0)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	assert_int_equal(
	        setsockopt(server_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	memset(&answer, 0, sizeof(answer));
	while (size < 4 || memcmp(answer.body + size - 4, "\r\n\r\n", 4) != 0)
		client_receive_bytes(server_fd, answer.body + size++, 1);
	*ret_server = server_fd;
	return fd;
}

static void end(int client, int server)
{
	pthread_mutex_lock(&mutex);
	while (released == 0)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	close(client);
	close(server);
	fixture_close(&fixture);
	assert_int_equal(released, 1);
}

static void expect(int fd, const char *text)
{
	char room[256] = "";

	assert_true(strlen(text) < sizeof(room));
	client_receive_bytes(fd, room, strlen(text));
	assert_string_equal(room, text);
}

/* ---- heads ---- */

static bool passes(const char *request, const char *header)
{
	int server, client = ask(request, &server);
	bool found = strstr(answer.body, header);

	close(server);
	end(client, -1);
	return found;
}

TEST(where_an_upgrade_comes_from_fits_the_host_that_it_names)
{
	static const char plain[] = "GET /a HTTP/1.1\r\n" HOST "Origin: http://a\r\n\r\n";
	static const char own[] = "GET /a HTTP/1.1\r\n" HOST UPGRADE "Origin: http://a\r\n\r\n";
	static const char other[] =
	        "GET /a HTTP/1.1\r\n" HOST UPGRADE "Origin: http://evil\r\n\r\n";

	assert_true(passes(plain, "\r\nX-Forwarded-Host: a\r\n"));
	assert_true(passes(own, "\r\nHost: localhost:8000\r\n"));
	assert_true(passes(own, "\r\nOrigin: http://localhost:8000\r\n"));
	assert_false(passes(own, "X-Forwarded-Host"));
	assert_false(passes(own, "host="));
	assert_true(passes(other, "\r\nOrigin: http://evil\r\n"));
}

/* ---- heads of answers, below a path ---- */

#define PAGE_WANTED "Accept: text/html\r\n"

static void answer_with(const char *asked, const char *headers, struct span body)
{
	AUTO(buf_done) struct buf text = BUF(1 << 21);
	int server, client;

	prefix = SPAN("/p/8000");
	buf_addf(&text, "GET /a HTTP/1.1\r\n" HOST "%s\r\n", asked);
	client = ask(text.data, &server);
	buf_reset(&text);
	buf_addf(&text,
	         "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%s"
	         "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	         headers, body.size);
	buf_add_span(&text, body);
	client_send_bytes(server, text.data, text.size);
	memset(&answer, 0, sizeof(answer));
	client_receive(client, &answer);
	end(client, server);
	prefix = (struct span){NULL, 0};
}

static void answer_below(const char *headers)
{
	answer_with(PAGE_WANTED, headers, SPAN("<p>x</p>"));
}

/* By gzip. */
static struct span pack(struct span page, struct buf *out)
{
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)page.data,
	              .avail_in = (unsigned)page.size};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.avail_out = (unsigned)deflateBound(&z, page.size);
	z.next_out = (unsigned char *)buf_reserve(out, z.avail_out);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->size = z.total_out;
	(void)deflateEnd(&z);
	return buf_span(out);
}

/* It leads to "/b". */
static struct span packed_page(struct buf *out)
{
	return pack(SPAN("<!doctype html><a href=/b>b</a>"), out);
}

TEST(a_page_that_is_packed_although_it_was_not_to_be_is_unpacked)
{
	AUTO(buf_done) struct buf packed = BUF(1024);
	struct span page = packed_page(&packed);

	answer_with(PAGE_WANTED, "Content-Encoding: GZip\r\nVary: Accept-Encoding\r\n", page);
	assert_int_equal(answer.status, 200);
	assert_non_null(strstr(answer.body, "<base href=\"/p/8000/a\">"));
	assert_non_null(strstr(answer.body, "<a href=/p/8000/b>b</a>"));
	assert_null(strstr(answer.head, "Content-Encoding"));
	assert_non_null(strstr(answer.head, "\r\nVary: Accept-Encoding\r\n"));
	assert_non_null(strstr(answer.head, "\r\nContent-Security-Policy: sandbox "));
	/* Who packs by his own choice is unpacked, too: what a script gets is a part of a page. */
	answer_with("Sec-Fetch-Dest: empty\r\nAccept-Encoding: gzip\r\n",
	            "Content-Encoding: gzip\r\n", page);
	assert_string_equal(answer.body, "<!doctype html><a href=/p/8000/b>b</a>");
}

TEST(a_page_that_nobody_here_can_unpack_is_refused_by_name)
{
	static const char *const others[] = {
	        "Content-Encoding: br\r\n", "Content-Encoding: gzip, br\r\n",
	        "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n"};

	for (size_t i = 0; i < COUNT_OF(others); i++) {
		answer_with(PAGE_WANTED, others[i], SPAN("x"));
		assert_int_equal(answer.status, 502);
		assert_non_null(strstr(answer.body, i ? "packed as 'gzip" : "packed as 'br'"));
	}
	/* A script that asked for it can read it; no page of it is shown. */
	answer_with("Sec-Fetch-Dest: empty\r\nAccept-Encoding: br\r\n", others[0], SPAN("x"));
	assert_int_equal(answer.status, 200);
	assert_non_null(strstr(answer.head, "\r\nContent-Encoding: br\r\n"));
	assert_string_equal(answer.body, "x");
}

/* Lines of a table, each almost as the one before. */
static struct span packed_table(struct buf *plain, struct buf *packed)
{
	unsigned number = 1;

	while (plain->size < TABLE_SIZE) {
		number = number * 1103515245 + 12345;
		buf_addf(plain,
		         "a row of a table whose rows are alike up to the end, where one has %02x; "
		         "there are very many of them\n",
		         number >> 24);
	}
	return pack(buf_span(plain), packed);
}

struct sending {
	int fd;
	struct span bytes;
};

static void *send_all(void *context)
{
	struct sending *s = context;
	ssize_t sent = 1;

	for (; s->bytes.size && sent > 0; s->bytes.size -= (size_t)sent, s->bytes.data += sent) {
		sent = send(s->fd, s->bytes.data, s->bytes.size, MSG_NOSIGNAL);
		sent = sent < 0 ? 0 : sent;
	}
	(void)shutdown(s->fd, SHUT_WR);
	return NULL;
}

/* The head and the body come together, and the client takes nothing until no more is sent. */
static size_t take_slowly(struct span body, char *got)
{
	AUTO(buf_done) struct buf all = BUF(2 * TABLE_SIZE);
	int server, client, little = 64 * 1024;
	struct sending sending;
	struct pollfd waits;
	pthread_t thread;
	size_t size = 0;

	buf_add_text(&all,
	             "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
	             "\r\n");
	buf_add_span(&all, body);
	prefix = SPAN("/p/8000");
	client = ask("GET /a HTTP/1.0\r\n" HOST "Sec-Fetch-Dest: empty\r\n\r\n", &server);
	assert_int_equal(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)), 0);
	sending = (struct sending){server, buf_span(&all)};
	waits = (struct pollfd){.fd = server, .events = POLLOUT};
	assert_int_equal(pthread_create(&thread, NULL, send_all, &sending), 0);
	/* All that is between the two is full. */
	for (int i = 0; i < 30 && poll(&waits, 1, 50) > 0 && waits.revents == POLLOUT; i++)
		usleep(10000);
	client_receive_head(client, &answer);
	for (ssize_t more = 1; more > 0; size += (size_t)more) {
		more = recv(client, got + size, 2 * TABLE_SIZE - size, 0);
		assert_true(more >= 0);
	}
	pthread_join(thread, NULL);
	end(client, server);
	prefix = (struct span){NULL, 0};
	return size;
}

TEST(a_large_page_that_packs_well_arrives_at_a_slow_client)
{
	AUTO(buf_done) struct buf plain = BUF(2 * TABLE_SIZE), packed = BUF(2 * TABLE_SIZE);
	AUTO_FREE char *got = calloc(1, 2 * TABLE_SIZE);
	struct span body = packed_table(&plain, &packed);

	assert_in_range(plain.size / body.size, 30, 90);
	assert_int_equal(take_slowly(body, got), plain.size);
	assert_memory_equal(got, plain.data, plain.size);
}

/* It is the page that may be so large, not what it becomes. */
TEST(a_page_that_grows_arrives_at_a_slow_client)
{
	AUTO(buf_done) struct buf plain = BUF(LARGE), packed = BUF(2 * LARGE);
	AUTO_FREE char *got = calloc(1, 2 * TABLE_SIZE);
	unsigned links = 0;

	for (; plain.size < LARGE - 64; links++)
		buf_add_text(&plain, "<a href=/>");
	assert_int_equal(take_slowly(pack(buf_span(&plain), &packed), got),
	                 plain.size + links * strlen("/p/8000"));
}

/* As it comes, with what the client asked for by. */
static int status_of(const char *method, const char *head)
{
	AUTO(buf_done) struct buf text = BUF(1 << 12);
	int server, client;

	prefix = SPAN("/p/8000");
	buf_addf(&text, "%s /a HTTP/1.1\r\n" HOST PAGE_WANTED "\r\n", method);
	client = ask(text.data, &server);
	client_send(server, head);
	memset(&answer, 0, sizeof(answer));
	client_receive_head(client, &answer);
	close(server);
	end(client, -1);
	prefix = (struct span){NULL, 0};
	return answer.status;
}

#define BY_BR "Content-Type: text/html\r\nContent-Encoding: br\r\n"

TEST(what_shows_no_page_may_be_packed_in_any_way)
{
	assert_int_equal(status_of("GET", "HTTP/1.1 302 Found\r\nLocation: /b\r\n" BY_BR
	                                  "Content-Length: 0\r\n\r\n"),
	                 302);
	assert_non_null(strstr(answer.head, "\r\nLocation: /p/8000/b\r\n"));
	assert_int_equal(status_of("GET", "HTTP/1.1 302 Found\r\nLocation: /b\r\n" BY_BR
	                                  "Content-Length: 1\r\n\r\nx"),
	                 302);
	assert_int_equal(status_of("GET", "HTTP/1.1 200 OK\r\n" BY_BR "Content-Length: 0\r\n\r\n"),
	                 200);
	assert_int_equal(status_of("GET", "HTTP/1.1 103 Early Hints\r\n" BY_BR
	                                  "\r\nHTTP/1.1 204 No Content\r\n" BY_BR "\r\n"),
	                 204);
	/* A HEAD is told what a GET would be. */
	assert_int_equal(status_of("HEAD", "HTTP/1.1 200 OK\r\n" BY_BR "Content-Length: 1\r\n\r\n"),
	                 502);
	assert_int_equal(status_of("GET", "HTTP/1.1 200 OK\r\n" BY_BR "Content-Length: 1\r\n\r\nx"),
	                 502);
}

/* The client sees that it is not whole. */
static void expect_cut(struct span body)
{
	int server, client;
	ssize_t got;

	prefix = SPAN("/p/8000");
	client = ask("GET /a HTTP/1.1\r\n" HOST PAGE_WANTED "\r\n", &server);
	client_send(server,
	            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n");
	client_send_bytes(server, body.data, body.size);
	close(server);
	memset(&answer, 0, sizeof(answer));
	client_receive_head(client, &answer);
	assert_int_equal(answer.status, 200);
	for (char byte, last[5] = ""; (got = recv(client, &byte, 1, 0)) > 0;) {
		memmove(last, last + 1, 4);
		last[4] = byte;
		assert_memory_not_equal(last, "0\r\n\r\n", 5);
	}
	assert_true(got == 0 || errno == ECONNRESET);
	end(client, -1);
	prefix = (struct span){NULL, 0};
}

TEST(a_packed_page_that_is_not_whole_or_makes_no_sense_is_cut)
{
	AUTO(buf_done) struct buf packed = BUF(1024);
	struct span page = packed_page(&packed);

	expect_cut((struct span){page.data, page.size - 9});
	expect_cut(SPAN("<p>this is no gzip</p>"));
}

TEST(a_page_below_a_path_is_in_its_box_however_much_its_server_says)
{
	AUTO(buf_done) struct buf headers = BUF(1 << 20);

	answer_below("X-A: b\r\n");
	assert_int_equal(answer.status, 200);
	assert_non_null(strstr(answer.head, "\r\nContent-Security-Policy: sandbox allow-scripts"));
	for (unsigned i = 0; i < 45; i++)
		buf_addf(&headers, "X-%u: %0999d\r\n", i, 0);
	answer_below(headers.data);
	assert_int_equal(answer.status, 503);
	assert_null(strstr(answer.head, "X-1: "));
}

TEST(policies_of_an_answer_let_in_what_is_put_into_its_page)
{
	answer_below("Content-Security-Policy: script-src 'self'; base-uri 'none'\r\n"
	             "Content-Security-Policy-Report-Only: script-src 'self'\r\n");
	assert_non_null(strstr(answer.head, "Policy: script-src 'self' 'sha256-"));
	assert_non_null(strstr(answer.head, "'; base-uri 'none'\r\n"));
	assert_non_null(strstr(answer.head, "Report-Only: script-src 'self' 'sha256-"));
	assert_non_null(strstr(answer.body, "<script>(function()"));
	assert_null(strstr(answer.body, "<base"));
}

TEST(a_switch_whose_protocol_has_no_room_among_the_headers_is_none)
{
	AUTO(buf_done) struct buf head = BUF(1 << 16);
	int server, client = ask("GET /a HTTP/1.1\r\n" HOST UPGRADE "\r\n", &server);

	buf_addf(&head, "HTTP/1.1 101 Switching Protocols\r\n" UPGRADE_TO("%040000d") "\r\n", 0);
	client_send(server, head.data);
	memset(&answer, 0, sizeof(answer));
	client_receive(client, &answer);
	end(client, server);
	assert_int_equal(answer.status, 503);
}

/* ---- trailers ---- */

static const char chunked[] =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nok\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\n"
        "content-length: 9\r\nno name: x\r\nHost: evil\r\nContent-Digest:x \r\n\r\n";

TEST(trailers_of_an_answer_reach_a_client_that_takes_them)
{
	int server,
	        client = ask("GET /a HTTP/1.1\r\n" HOST "TE: trailers\r\nConnection: TE\r\n\r\n",
	                     &server);

	assert_non_null(strstr(answer.body, "\r\nTE: trailers\r\n"));
	assert_non_null(strstr(answer.body, "\r\nConnection: TE\r\n"));
	client_send(server, chunked);
	client_receive_head(client, &answer);
	expect(client, "2\r\nok\r\n0\r\nX-Sum: 1\r\nContent-Digest: x\r\n\r\n");
	end(client, server);
}

TEST(who_does_not_say_so_gets_none)
{
	static const char *const requests[] = {
	        "GET /a HTTP/1.1\r\n" HOST "\r\n",
	        /* It is of one hop, and so has to be named. */
	        "GET /a HTTP/1.1\r\n" HOST "TE: trailers\r\n\r\n",
	        "GET /a HTTP/1.1\r\n" HOST "TE: gzip\r\nConnection: TE\r\n\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		int server, client = ask(requests[i], &server);

		assert_null(strstr(answer.body, "\r\nTE:"));
		client_send(server, chunked);
		client_receive_head(client, &answer);
		expect(client, "2\r\nok\r\n0\r\n\r\n");
		end(client, server);
	}
}

TEST(trailers_of_a_request_reach_the_server_but_those_that_belong_into_a_head)
{
	int server, client = ask("PUT /a HTTP/1.1\r\n" HOST
	                         "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n",
	                         &server);

	assert_non_null(strstr(answer.body, "\r\nTrailer: X-Sum\r\n"));
	client_send(client,
	            "3\r\nabc\r\n0\r\nX-Sum: 7\r\nx-secret: key\r\nAuthorization: Bearer x\r\n"
	            "X-Forwarded-For: 1.1.1.1\r\nTransfer-Encoding: chunked\r\n"
	            "Cookie: a=b\r\nX-Empty:\r\n\r\n");
	expect(server, "3\r\nabc\r\n0\r\nX-Sum: 7\r\nX-Empty: \r\n\r\n");
	client_send(server, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
	client_receive_head(client, &answer);
	assert_int_equal(answer.status, 204);
	end(client, server);
}

TEST(a_trailer_section_without_an_end_is_no_end)
{
	int server, client = ask("PUT /a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
	                         &server);

	client_send(client, "0\r\nX-Sum: 7\r\n no: fold\r\n\r\n");
	client_receive_head(client, &answer);
	assert_int_equal(answer.status, 400);
	end(client, server);
}

/* ---- ends of one direction ---- */

static int open_tunnel(int *ret_server)
{
	int client = ask("GET /a HTTP/1.1\r\n" HOST UPGRADE "\r\n", ret_server);

	client_send(*ret_server, "HTTP/1.1 101 Switching Protocols\r\n" UPGRADE "\r\n");
	client_receive_head(client, &answer);
	assert_int_equal(answer.status, 101);
	return client;
}

/* Whoever is `first` ends its side; the other one goes on, and then ends, too. */
static void end_one_after_the_other(int first, int second)
{
	client_send(first, "last words");
	assert_int_equal(shutdown(first, SHUT_WR), 0);
	expect(second, "last words");
	assert_true(client_is_closed(second));
	client_send(second, "and");
	expect(first, "and");
	client_send(second, " more");
	expect(first, " more");
	assert_int_equal(shutdown(second, SHUT_WR), 0);
	assert_true(client_is_closed(first));
}

TEST(a_client_that_has_ended_its_side_hears_the_rest)
{
	int server, client = open_tunnel(&server);

	end_one_after_the_other(client, server);
	end(client, server);
}

TEST(a_server_that_has_ended_its_side_hears_the_rest)
{
	int server, client = open_tunnel(&server);

	end_one_after_the_other(server, client);
	end(client, server);
}

static void *send_large(void *context)
{
	static const char block[LARGE];
	int fd = *(const int *)context;

	client_send_bytes(fd, block, LARGE);
	(void)shutdown(fd, SHUT_WR);
	return NULL;
}

static void expect_large(int fd)
{
	AUTO_FREE char *block = calloc(1, LARGE);

	client_receive_bytes(fd, block, LARGE);
	assert_true(client_is_closed(fd));
}

/* By then both directions to whoever has ended are closed, and its bytes still wait in queues. */
TEST(what_was_sent_before_an_end_arrives_however_slowly_it_is_taken)
{
	for (int i = 0; i < 2; i++) {
		int server, client = open_tunnel(&server);
		int from = i ? server : client, to = i ? client : server;
		pthread_t thread;

		assert_int_equal(shutdown(to, SHUT_WR), 0);
		assert_true(client_is_closed(from));
		assert_int_equal(pthread_create(&thread, NULL, send_large, &from), 0);
		expect_large(to);
		pthread_join(thread, NULL);
		end(client, server);
	}
}

TEST(one_that_is_gone_ends_both_directions)
{
	const struct linger reset = {.l_onoff = 1};
	int server, client = open_tunnel(&server);

	assert_int_equal(setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	close(client);
	assert_true(client_is_closed(server));
	end(-1, server);
	client = open_tunnel(&server);
	/* A close looks as an end of one side, until something is sent. */
	close(server);
	assert_true(client_is_closed(client));
	client_send(client, "anybody?");
	end(client, -1);
}

int main(void)
{
	return RUN(CASE(where_an_upgrade_comes_from_fits_the_host_that_it_names),
	           CASE(trailers_of_an_answer_reach_a_client_that_takes_them),
	           CASE(who_does_not_say_so_gets_none),
	           CASE(trailers_of_a_request_reach_the_server_but_those_that_belong_into_a_head),
	           CASE(a_trailer_section_without_an_end_is_no_end),
	           CASE(a_client_that_has_ended_its_side_hears_the_rest),
	           CASE(a_server_that_has_ended_its_side_hears_the_rest),
	           CASE(what_was_sent_before_an_end_arrives_however_slowly_it_is_taken),
	           CASE(one_that_is_gone_ends_both_directions),
	           CASE(a_page_below_a_path_is_in_its_box_however_much_its_server_says),
	           CASE(a_page_that_is_packed_although_it_was_not_to_be_is_unpacked),
	           CASE(a_page_that_nobody_here_can_unpack_is_refused_by_name),
	           CASE(a_large_page_that_packs_well_arrives_at_a_slow_client),
	           CASE(a_page_that_grows_arrives_at_a_slow_client),
	           CASE(what_shows_no_page_may_be_packed_in_any_way),
	           CASE(a_packed_page_that_is_not_whole_or_makes_no_sense_is_cut),
	           CASE(policies_of_an_answer_let_in_what_is_put_into_its_page),
	           CASE(a_switch_whose_protocol_has_no_room_among_the_headers_is_none));
}
