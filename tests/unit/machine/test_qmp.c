/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "json/json.h"
#include "machine/qmp.h"

/* A monitor that greets, accepts the capabilities, and then writes one answer. */
struct monitor {
	char folder[64], path[96];
	int listener;
	const char *answer;
	size_t repeat;
	pthread_t thread;
};

static void read_command(int fd)
{
	char text[512];

	assert_true(read(fd, text, sizeof(text)) > 0);
}

static void write_text(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void *serve(void *context)
{
	struct monitor *m = context;
	int fd = accept(m->listener, NULL, NULL);

	write_text(fd, "{\"QMP\": {}}\r\n");
	read_command(fd);
	write_text(fd, "{\"return\": {}}\r\n");
	read_command(fd);
	for (size_t i = 0; i < m->repeat; i++)
		write_text(fd, m->answer);
	close(fd);
	return NULL;
}

static void start_monitor(struct monitor *m, const char *answer, size_t repeat)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*m = (struct monitor){
	        .folder = "/tmp/atoll-qmp-XXXXXX", .answer = answer, .repeat = repeat};
	assert_non_null(mkdtemp(m->folder));
	(void)snprintf(m->path, sizeof(m->path), "%s/monitor", m->folder);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", m->path);
	m->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(m->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(m->listener, 1), 0);
	assert_int_equal(pthread_create(&m->thread, NULL, serve, m), 0);
}

static void end_monitor(struct monitor *m)
{
	pthread_join(m->thread, NULL);
	close(m->listener);
	unlink(m->path);
	rmdir(m->folder);
}

static int ask(const char *answer, size_t repeat, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *value;
	struct monitor m;
	struct qmp q;
	int status;

	start_monitor(&m, answer, repeat);
	assert_int_equal(qmp_open(&q, m.path, deadline_after(5000), err), 0);
	status = qmp_call(&q, &arena, &(struct qmp_command){"{\"execute\":\"stop\"}", -1}, &value,
	                  err);
	qmp_close(&q);
	end_monitor(&m);
	return status;
}

TEST(events_before_an_answer_are_skipped)
{
	struct error err = {0};

	assert_int_equal(ask("{\"event\": \"STOP\"}\r\n{\"return\": {}}\r\n", 1, &err), 0);
}

TEST(a_refusal_tells_why)
{
	struct error err = {0};

	assert_int_equal(ask("{\"error\": {\"desc\": \"no such thing\"}}\r\n", 1, &err), -1);
	assert_non_null(strstr(err.text, "no such thing"));
}

TEST(what_is_no_answer_fails)
{
	static const struct {
		const char *text;
		size_t repeat;
		enum error_code code;
	} wrong[] = {
	        {"", 0, ERROR_UNAVAILABLE},
	        {"garbage\r\n", 1, ERROR_INVALID},
	        {"{\"event\": 1}\r\n", 10001, ERROR_LIMIT},
	        {"0123456789abcdef0123456789abcdef", 16384, ERROR_TOO_LARGE},
	};

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct error err = {0};

		assert_int_equal(ask(wrong[i].text, wrong[i].repeat, &err), -1);
		assert_int_equal(err.code, wrong[i].code);
	}
}

TEST(a_monitor_that_never_listens_is_waited_for_until_the_deadline)
{
	struct error err = {0};
	struct qmp q;

	assert_int_equal(qmp_open(&q, "/tmp/atoll-no-such-monitor", deadline_after(20), &err), -1);
	qmp_close(&q);
}

int main(void)
{
	return RUN(CASE(events_before_an_answer_are_skipped), CASE(a_refusal_tells_why),
	           CASE(what_is_no_answer_fails),
	           CASE(a_monitor_that_never_listens_is_waited_for_until_the_deadline));
}
