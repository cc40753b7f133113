/* SPDX-License-Identifier: Apache-2.0 */
/* A browser's terminal: what opens its WebSocket, and what does not. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "edge/api.h"
#include "edge/tickets.h"
#include "fleet/core/access.h"
#include "fleet/core/peers.h"
#include "fleet/server/fleet.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "unit.h"
#include "unit/api/harness.h"

static struct harness harness;

#define I "/api/sandbox/instances"
#define UPGRADE                                                                                    \
	"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"               \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define WAIT_MS 10000

/* The path with its ticket that POST …/terminal answers. */
static void open_terminal(char ret[256])
{
	struct call make = {"POST", I, .key = harness.admin, .body = SPAN("{\"name\":\"box\"}")};
	struct call call = {"POST", I "/box/terminal", .key = harness.admin, .body = SPAN("{}")};
	AUTO(answer_done) struct answer made = harness_call(&harness, &make);
	AUTO(answer_done) struct answer a = harness_call(&harness, &call);
	const char *path;

	assert_true(made.status == 201 || made.status == 409);
	assert_int_equal(a.status, 201);
	path = strstr(a.body, "\"path\":\"");
	assert_non_null(path);
	path += strlen("\"path\":\"");
	(void)snprintf(ret, 256, "%.*s", (int)strcspn(path, "\""), path);
}

/* Sends the request and reads `count` bytes behind the answer's head, if there are so many. */
static int ask(const char *path, const char *headers, size_t count, struct buf *out)
{
	struct sockaddr_in address = {
	        .sin_family = AF_INET,
	        .sin_port = htons(harness.port),
	        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO(buf_done) struct buf request = BUF(4096);
	int64_t deadline = deadline_after(WAIT_MS);
	struct error err;
	char room[4096];
	ssize_t got = 1;
	int status = 0;

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	buf_addf(&request, "GET %s HTTP/1.1\r\nHost: test\r\n%s\r\n", path, headers);
	assert_int_equal(fd_write_all(fd, request.data, request.size, &err), 0);
	buf_reset(out);
	while (got > 0) {
		const char *end = memmem(buf_text(out), out->size, "\r\n\r\n", 4);

		if (end && out->size - (size_t)(end + 4 - out->data) >= count)
			break;
		assert_int_equal(fd_wait(fd, POLLIN, deadline, &err), 1);
		got = read(fd, room, sizeof(room));
		buf_add(out, room, got > 0 ? (size_t)got : 0);
	}
	assert_int_equal(sscanf(buf_text(out), "HTTP/1.1 %d ", &status), 1);
	return status;
}

TEST(a_good_ticket_opens_the_terminal_and_only_once)
{
	static const char started[] = "{\"type\":\"started\",\"process\":1,";
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	char path[256];
	const char *frame;

	open_terminal(path);
	assert_int_equal(ask(path, UPGRADE, 2 + sizeof(started), &out), 101);
	assert_non_null(
	        strstr(buf_text(&out), "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
	frame = strstr(buf_text(&out), "\r\n\r\n") + 4;
	/* A whole text frame without a mask: what the agent told. */
	assert_int_equal((unsigned char)frame[0], 0x81);
	assert_int_equal(strncmp(frame + 2, started, strlen(started)), 0);
	assert_int_equal(ask(path, UPGRADE, 0, &out), 401);
	assert_non_null(strstr(buf_text(&out), "ticket"));
}

TEST(an_unknown_ticket_opens_nothing)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	char path[256], *ticket, first;

	open_terminal(path);
	ticket = strstr(path, "?ticket=") + strlen("?ticket=");
	first = ticket[0];
	ticket[0] = first == '0' ? '1' : '0';
	assert_int_equal(ask(path, UPGRADE, 0, &out), 401);
	assert_non_null(strstr(buf_text(&out), "ticket"));
	/* Guessing has not used the good one up. */
	ticket[0] = first;
	assert_int_equal(ask(path, UPGRADE, 0, &out), 101);
	ticket[0] = '\0';
	assert_int_equal(ask(path, UPGRADE, 0, &out), 401);
	*strchr(path, '?') = '\0';
	assert_int_equal(ask(path, UPGRADE, 0, &out), 401);
}

TEST(a_ticket_that_is_too_old_opens_nothing)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	struct api_ticket ticket = {.project_id = "default"};
	char path[256], *query, whole[400], text[API_TICKET_SIZE + 1];
	int64_t now = clock_monotonic_ms();
	struct account_key key;
	struct error err;

	open_terminal(path);
	query = strchr(path, '?');
	*query = '\0';
	(void)snprintf(ticket.path, sizeof(ticket.path), "%.127s", path);
	assert_int_equal(account_key_parse(span_of(harness.admin), &key, &err), 0);
	memcpy(ticket.key_hash, key.hash, sizeof(ticket.key_hash));
	api_tickets_issue(harness.api.tickets, &ticket, now - API_TICKET_MS, text);
	(void)snprintf(whole, sizeof(whole), "%s?ticket=%s", path, text);
	assert_int_equal(ask(whole, UPGRADE, 0, &out), 401);
	/* It was its age: a young one that is the same otherwise is good. */
	api_tickets_issue(harness.api.tickets, &ticket, now, text);
	(void)snprintf(whole, sizeof(whole), "%s?ticket=%s", path, text);
	assert_int_equal(ask(whole, UPGRADE, 0, &out), 101);
}

/* Signed as this server would have at that time. */
static const char *sign(struct arena *a, const char *secret, int64_t seconds, const char *path)
{
	const char *node = fleet_node(harness.fleet);
	char signature[FLEET_ACCESS_TOKEN_SIZE + 1];

	fleet_access_token(harness.fleet,
	                   arena_format(a, "%s %s %lld %s", secret, node, (long long)seconds, path),
	                   FLEET_ACCESS_TICKET, signature);
	return arena_format(a, "%s.%s.%lld.%s", secret, node, (long long)seconds, signature);
}

TEST(a_ticket_says_who_has_given_it_and_nobody_else_can_say_so)
{
	static const char secret[] =
	        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const struct fleet *fleet = harness.fleet;
	const char *node = NULL, *made = api_ticket_sign(fleet, &a, secret, "/p");
	int64_t now = clock_unix_ms() / 1000;

	assert_true(api_ticket_issuer(fleet, &a, span_of(made), "/p", &node));
	assert_string_equal(node, fleet_node(fleet));
	assert_true(strlen(made) <= API_TICKET_TEXT_MAX);
	assert_false(api_ticket_issuer(fleet, &a, span_of(made), "/other", &node));
	/* Each byte of it is signed, and all of them are needed. */
	for (size_t i = 0; made[i]; i++) {
		char *other = arena_text(&a, made);

		other[i] = made[i] == '1' ? '2' : '1';
		assert_false(api_ticket_issuer(fleet, &a, span_of(other), "/p", &node));
		assert_false(api_ticket_issuer(fleet, &a, (struct span){made, i}, "/p", &node));
	}
	assert_false(
	        api_ticket_issuer(fleet, &a, span_of(arena_format(&a, "%s0", made)), "/p", &node));
	assert_true(api_ticket_issuer(fleet, &a, span_of(sign(&a, secret, now + 60, "/p")), "/p",
	                              &node));
	assert_false(api_ticket_issuer(fleet, &a, span_of(sign(&a, secret, now - 1, "/p")), "/p",
	                               &node));
}

TEST(what_is_no_upgrade_is_refused)
{
	static const char *const headers[] = {
	        "",
	        "Connection: Upgrade\r\nUpgrade: h2c\r\n",
	        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n"
	        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
	        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	        "Sec-WebSocket-Key: short\r\n",
	        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	char path[256];

	for (unsigned i = 0; i < COUNT_OF(headers); i++) {
		open_terminal(path);
		assert_int_equal(ask(path, headers[i], 0, &out), 400);
		assert_non_null(strstr(buf_text(&out), "WebSocket"));
	}
}

TEST(an_ended_terminal_lets_its_sandbox_go)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	int64_t deadline = deadline_after(WAIT_MS);
	char path[256];

	open_terminal(path);
	assert_int_equal(ask(path, UPGRADE, 0, &out), 101);
	while (fleet_counts_get(harness.fleet).held > 0) {
		assert_true(deadline_poll_ms(deadline) > 0);
		(void)poll(NULL, 0, 1);
	}
}

int main(void)
{
	int result;

	harness_open(&harness);
	result = RUN(
	        CASE(a_good_ticket_opens_the_terminal_and_only_once),
	        CASE(an_unknown_ticket_opens_nothing), CASE(a_ticket_that_is_too_old_opens_nothing),
	        CASE(a_ticket_says_who_has_given_it_and_nobody_else_can_say_so),
	        CASE(what_is_no_upgrade_is_refused), CASE(an_ended_terminal_lets_its_sandbox_go));
	harness_close(&harness);
	return result;
}
