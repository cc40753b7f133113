/* SPDX-License-Identifier: Apache-2.0 */
/* The api process's end and the proxy, as two processes. */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "credential/authority.h"
#include "credential/control.h"
#include "credential/proxy/proxy.h"
#include "credential/rule.h"
#include "credential/sender.h"
#include "egress/handover.h"

#define WAIT_MS 20000

static struct error err;

struct world {
	char folder[64], path[96], roots[96];
	int control_fd, pair[2];
	pid_t pid;
	const char *certificate, *key;
	struct arena arena;
};

static int confine_nothing(UNUSED const void *context, UNUSED struct error *failure)
{
	return 0;
}

static void start_proxy(struct world *w)
{
	const struct credential_proxy_options options = {.control_fd = w->control_fd,
	                                                 .handover_fd = w->pair[0],
	                                                 .reports_fd = -1,
	                                                 .roots = w->roots,
	                                                 .confine = confine_nothing};

	w->pid = fork();
	if (w->pid == 0)
		_exit(credential_proxy_run(&options, &err) < 0);
}

static void end_proxy(const struct world *w)
{
	int status;

	assert_int_equal(kill(w->pid, SIGKILL), 0);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
}

static void open_world(struct world *w)
{
	struct sockaddr_un here = {.sun_family = AF_UNIX};

	*w = (struct world){.pid = 0};
	unit_folder(w->folder, sizeof(w->folder), "sender");
	(void)snprintf(w->path, sizeof(w->path), "%s/sock", w->folder);
	(void)snprintf(w->roots, sizeof(w->roots), "%s/roots", w->folder);
	(void)snprintf(here.sun_path, sizeof(here.sun_path), "%s", w->path);
	assert_int_equal(credential_authority_make(&w->arena, "aaaaaaaaaaaaaaaaaaaa",
	                                           &w->certificate, &w->key, &err),
	                 0);
	assert_int_equal(file_write(AT_FDCWD, w->roots, span_of(w->certificate), 0600, &err), 0);
	w->control_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(w->control_fd, (const struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(listen(w->control_fd, 8), 0);
	assert_int_equal(
	        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, w->pair), 0);
	start_proxy(w);
}

static void close_world(struct world *w)
{
	end_proxy(w);
	(void)close(w->control_fd);
	(void)close(w->pair[0]);
	(void)close(w->pair[1]);
	arena_done(&w->arena);
	unit_remove_folder(w->folder);
}

static struct credential_set make_set(const struct world *w, const char *sandbox)
{
	return (struct credential_set){.sandbox = sandbox,
	                               .rules = {.present = true},
	                               .credentials = {.present = true},
	                               .ca_certificate = w->certificate,
	                               .ca_key = w->key};
}

/* Hands a connection over: the proxy takes it only if it has a set of the sandbox. */
static bool is_taken(const struct world *w, const char *sandbox)
{
	struct handover h = {.host = "api.example.com", .port = HANDOVER_TLS};
	struct handover_news news = {.state = HANDOVER_DONE};
	int client[2], server[2], token[2];
	bool took;

	(void)snprintf(h.sandbox, sizeof(h.sandbox), "%s", sandbox);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, client), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, server), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, token), 0);
	const int fds[HANDOVER_FDS] = {client[1], server[1], token[1]};

	assert_int_equal(handover_send(w->pair[1], &h, SPAN("begun"), fds, &err), 0);
	for (unsigned i = 0; i < HANDOVER_FDS; i++)
		(void)close(fds[i]);
	assert_int_equal(fd_wait(token[0], POLLIN, deadline_after(WAIT_MS), &err), 1);
	took = recv(token[0], &news, sizeof(news), 0) == (ssize_t)sizeof(news) &&
	       news.state == HANDOVER_TAKEN;
	(void)close(client[0]);
	(void)close(server[0]);
	(void)close(token[0]);
	return took;
}

TEST(sets_are_put_replaced_and_removed)
{
	struct world w;
	struct credential_sender *s;
	struct credential_set set;

	open_world(&w);
	set = make_set(&w, "aaaaaaaaaaaaaaaaaaaa");
	assert_int_equal(credential_sender_new(w.path, &s, &err), 0);
	assert_false(is_taken(&w, set.sandbox));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(credential_sender_put(s, &set, &err), 0);
	assert_true(is_taken(&w, set.sandbox));
	assert_false(is_taken(&w, "bbbbbbbbbbbbbbbbbbbb"));
	set.ca_key = "none";
	assert_int_equal(credential_sender_put(s, &set, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_true(is_taken(&w, set.sandbox));
	assert_int_equal(credential_sender_remove(s, set.sandbox, &err), 0);
	assert_false(is_taken(&w, set.sandbox));
	assert_int_equal(credential_sender_remove(s, set.sandbox, &err), 0);
	credential_sender_free(s);
	close_world(&w);
}

struct counted_messages {
	int listen_fd;
	unsigned count;
};

/* Takes every message, until the other side goes. */
static void *count_messages(void *context)
{
	struct counted_messages *c = context;
	int fd = accept(c->listen_fd, NULL, NULL);
	struct control_head head;

	while (recv(fd, &head, sizeof(head), MSG_WAITALL) == (ssize_t)sizeof(head)) {
		char body[4096], answer = CONTROL_DONE;

		for (size_t left = head.size; left > 0;) {
			ssize_t got = recv(fd, body, left < sizeof(body) ? left : sizeof(body), 0);

			if (got <= 0)
				break;
			left -= (size_t)got;
		}
		c->count++;
		if (send(fd, &answer, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	(void)close(fd);
	return NULL;
}

/* The server puts the set of each sandbox every second. */
TEST(a_set_that_is_the_same_is_not_sent_again)
{
	struct sockaddr_un here = {.sun_family = AF_UNIX};
	struct world w = {.certificate = "c", .key = "k"};
	struct counted_messages counted = {.count = 0};
	struct credential_set set = make_set(&w, "aaaaaaaaaaaaaaaaaaaa");
	struct credential_sender *s;
	pthread_t thread;

	unit_folder(w.folder, sizeof(w.folder), "sender");
	(void)snprintf(here.sun_path, sizeof(here.sun_path), "%s/sock", w.folder);
	counted.listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(counted.listen_fd, (const struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(listen(counted.listen_fd, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, count_messages, &counted), 0);
	assert_int_equal(credential_sender_new(here.sun_path, &s, &err), 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(credential_sender_put(s, &set, &err), 0);
	set.ca_key = "other";
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(credential_sender_put(s, &set, &err), 0);
	credential_sender_free(s);
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* The first one comes with the connection, and by itself. */
	assert_in_range(counted.count, 2, 3);
	(void)close(counted.listen_fd);
	unit_remove_folder(w.folder);
}

TEST(a_proxy_that_is_started_again_gets_all_sets)
{
	const int64_t deadline = deadline_after(WAIT_MS);
	struct world w;
	struct credential_sender *s;
	struct credential_set set, other;

	open_world(&w);
	set = make_set(&w, "aaaaaaaaaaaaaaaaaaaa");
	other = make_set(&w, "bbbbbbbbbbbbbbbbbbbb");
	assert_int_equal(credential_sender_new(w.path, &s, &err), 0);
	assert_int_equal(credential_sender_put(s, &set, &err), 0);
	assert_int_equal(credential_sender_put(s, &other, &err), 0);
	end_proxy(&w);
	start_proxy(&w);
	while (!is_taken(&w, set.sandbox) || !is_taken(&w, other.sandbox))
		assert_true(clock_monotonic_ms() < deadline);
	credential_sender_free(s);
	close_world(&w);
}

TEST(a_new_api_process_removes_what_it_does_not_put)
{
	struct world w;
	struct credential_sender *before, *after;
	struct credential_set set, other;

	open_world(&w);
	set = make_set(&w, "aaaaaaaaaaaaaaaaaaaa");
	other = make_set(&w, "bbbbbbbbbbbbbbbbbbbb");
	assert_int_equal(credential_sender_new(w.path, &before, &err), 0);
	assert_int_equal(credential_sender_put(before, &set, &err), 0);
	assert_int_equal(credential_sender_put(before, &other, &err), 0);
	credential_sender_free(before);
	assert_true(is_taken(&w, other.sandbox));
	assert_int_equal(credential_sender_new(w.path, &after, &err), 0);
	assert_int_equal(credential_sender_put(after, &set, &err), 0);
	assert_int_equal(credential_sender_settle(after, &err), 0);
	assert_true(is_taken(&w, set.sandbox));
	assert_false(is_taken(&w, other.sandbox));
	credential_sender_free(after);
	close_world(&w);
}

TEST(without_a_proxy_a_put_says_so)
{
	struct world w = {.certificate = "c", .key = "k"};
	const struct credential_set set = make_set(&w, "aaaaaaaaaaaaaaaaaaaa");
	struct credential_sender *s;

	assert_int_equal(credential_sender_new("", &s, &err), 0);
	assert_int_equal(credential_sender_put(s, &set, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_int_equal(credential_sender_settle(s, &err), 0);
	credential_sender_free(s);
	assert_int_equal(credential_sender_new("/nonexistent/socket", &s, &err), 0);
	assert_int_equal(credential_sender_put(s, &set, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	credential_sender_free(s);
}

TEST(the_proxy_tells_what_it_holds)
{
	struct world w;
	struct credential_sender *s;
	struct credential_set set;

	open_world(&w);
	set = make_set(&w, "aaaaaaaaaaaaaaaaaaaa");
	assert_int_equal(credential_sender_new(w.path, &s, &err), 0);
	credential_sender_measure(s);
	assert_int_equal(credential_sender_usage(s).sandboxes, 0);
	assert_int_equal(credential_sender_put(s, &set, &err), 0);
	credential_sender_measure(s);
	assert_int_equal(credential_sender_usage(s).sandboxes, 1);
	assert_int_equal(credential_sender_usage(s).connections, 0);
	assert_int_equal(credential_sender_usage(s).memory, 0);
	/* Another message is answered after it. */
	assert_int_equal(credential_sender_remove(s, set.sandbox, &err), 0);
	credential_sender_measure(s);
	assert_int_equal(credential_sender_usage(s).sandboxes, 0);
	end_proxy(&w);
	credential_sender_measure(s);
	assert_int_equal(credential_sender_usage(s).sandboxes, 0);
	start_proxy(&w);
	credential_sender_free(s);
	close_world(&w);
}

int main(void)
{
	return RUN(CASE(the_proxy_tells_what_it_holds), CASE(sets_are_put_replaced_and_removed),
	           CASE(a_set_that_is_the_same_is_not_sent_again),
	           CASE(a_proxy_that_is_started_again_gets_all_sets),
	           CASE(a_new_api_process_removes_what_it_does_not_put),
	           CASE(without_a_proxy_a_put_says_so));
}
