/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "surface/envd/watchers.h"
#include "unit.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define SOON_MS 1000
#define ENDS_MS 90000

/* An agent that sends entries without end, none of which is an event. */
struct flood {
	int fd;
	atomic_bool is_over;
	sem_t begun; /* the first entries are on their way */
};

static void *flood_on(void *context)
{
	struct flood *f = context;
	AUTO(buf_done) struct buf frames = BUF(64 * 1024);
	const struct agent_entry entry = {.path = "x", .link = "", .owner = "", .group = ""};
	struct error err = {0};

	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(wire_encode(&frames, AGENT_ENTRY, agent_entry_shape, &entry, &err),
		                 0);
	while (!atomic_load(&f->is_over)) {
		if (wire_send(f->fd, buf_span(&frames), deadline_after(100), &err) < 0 &&
		    err.code != ERROR_TIMEOUT)
			break;
		(void)sem_post(&f->begun);
	}
	return NULL;
}

struct taking {
	struct envd_watchers *watchers;
	char id[ID_SIZE + 1];
	sem_t ended;
};

static void *take_on(void *context)
{
	struct taking *t = context;
	AUTO(buf_done) struct buf out = BUF(16 << 20);
	struct error err = {0};

	(void)!watchers_take_events(t->watchers, "hostile", t->id, &out, &err);
	(void)sem_post(&t->ended);
	return NULL;
}

static int add(struct envd_watchers *w, const char *sandbox, char id[ID_SIZE + 1])
{
	struct error err = {0};
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(watchers_add(w, sandbox, ends[0], id, &err), 0);
	return ends[1];
}

TEST(an_agent_that_sends_without_end_delays_no_call)
{
	struct envd_watchers *w = envd_watchers_new();
	struct taking taking = {.watchers = w};
	struct flood flood = {.fd = add(w, "hostile", taking.id)};
	char quiet[ID_SIZE + 1];
	UNUSED AUTO_CLOSE int quiet_fd = add(w, "quiet", quiet);
	AUTO(buf_done) struct buf out = BUF(4096);
	pthread_t agent, caller;
	struct error err = {0};
	struct timespec until;
	int64_t begun;

	(void)sem_init(&flood.begun, 0, 0);
	(void)sem_init(&taking.ended, 0, 0);
	assert_int_equal(pthread_create(&agent, NULL, flood_on, &flood), 0);
	assert_int_equal(sem_wait(&flood.begun), 0);
	assert_int_equal(pthread_create(&caller, NULL, take_on, &taking), 0);
	begun = clock_monotonic_ms();
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(watchers_take_events(w, "quiet", quiet, &out, &err), 0);
	assert_true(clock_monotonic_ms() - begun < SOON_MS);
	/* Only a call that never ends fails here: a loaded machine takes its time. */
	until = deadline_wall_time(begun + ENDS_MS);
	assert_int_equal(sem_timedwait(&taking.ended, &until), 0);
	atomic_store(&flood.is_over, true);
	pthread_join(caller, NULL);
	pthread_join(agent, NULL);
	close(flood.fd);
	envd_watchers_free(w);
}

TEST(a_removed_watcher_is_not_found)
{
	struct envd_watchers *w = envd_watchers_new();
	AUTO(buf_done) struct buf out = BUF(4096);
	struct error err = {0};
	char id[ID_SIZE + 1];
	UNUSED AUTO_CLOSE int fd = add(w, "x", id);

	assert_int_equal(watchers_remove(w, "other", id, &err), -1);
	assert_int_equal(watchers_remove(w, "x", id, &err), 0);
	assert_int_equal(watchers_take_events(w, "x", id, &out, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	envd_watchers_free(w);
}

int main(void)
{
	alarm(60);
	return RUN(CASE(an_agent_that_sends_without_end_delays_no_call),
	           CASE(a_removed_watcher_is_not_found));
}
