/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/host/slots.h"
#include "unit.h"

struct fake_host {
	char path[64];
	unsigned claimed;
	uint32_t last;
	bool alive;
};

static bool is_alive(void *context, uint32_t first_slot)
{
	(void)first_slot;
	return ((struct fake_host *)context)->alive;
}

static void on_claim(void *context, uint32_t first_slot)
{
	struct fake_host *h = context;

	h->claimed++;
	h->last = first_slot;
}

static void host_make(struct fake_host *h)
{
	*h = (struct fake_host){.claimed = 0};
	(void)snprintf(h->path, sizeof(h->path), "/tmp/atoll-slots.XXXXXX");
	assert_non_null(mkdtemp(h->path));
}

static void host_done(struct fake_host *h)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execl("/bin/rm", "rm", "-rf", h->path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static int try_open(struct slots *s, struct fake_host *h, const char *owner, struct error *err)
{
	*s = (struct slots){.is_alive = is_alive, .on_claim = on_claim, .context = h};
	return slots_open(s, h->path, owner, err);
}

static void open_as(struct slots *s, struct fake_host *h, const char *owner)
{
	struct error err = {0};

	assert_int_equal(try_open(s, h, owner, &err), 0);
}

TEST(slots_go_round_before_one_is_used_again)
{
	static struct slots s;
	struct error err = {0};
	struct fake_host h;
	uint32_t slot;

	host_make(&h);
	open_as(&s, &h, "/data");
	for (uint32_t i = 0; i < SLOT_CHUNK; i++) {
		assert_int_equal(slots_take(&s, &slot, &err), 0);
		assert_int_equal(slot, i);
		slots_release(&s, slot);
	}
	assert_int_equal(slots_take(&s, &slot, &err), 0);
	assert_int_equal(slot, 0);
	assert_int_equal(h.claimed, 1);
	slots_close(&s);
	host_done(&h);
}

TEST(another_chunk_is_claimed_when_one_is_full)
{
	static struct slots s;
	struct error err = {0};
	struct fake_host h;
	uint32_t slot;

	host_make(&h);
	open_as(&s, &h, "/data");
	for (uint32_t i = 0; i <= SLOT_CHUNK; i++)
		assert_int_equal(slots_take(&s, &slot, &err), 0);
	assert_int_equal(slot, SLOT_CHUNK);
	assert_int_equal(h.claimed, 2);
	slots_close(&s);
	host_done(&h);
}

TEST(two_instances_never_share_a_slot)
{
	static struct slots one, two;
	struct error err = {0};
	struct fake_host h;
	uint32_t a, b;

	host_make(&h);
	open_as(&one, &h, "/one");
	open_as(&two, &h, "/two");
	assert_int_equal(slots_take(&one, &a, &err), 0);
	assert_int_equal(slots_take(&two, &b, &err), 0);
	assert_int_not_equal(a / SLOT_CHUNK, b / SLOT_CHUNK);
	slots_close(&one);
	slots_close(&two);
	host_done(&h);
}

TEST(a_restarted_broker_gets_its_chunks_back)
{
	static struct slots s, other;
	struct error err = {0};
	struct fake_host h;
	uint32_t slot;

	host_make(&h);
	open_as(&s, &h, "/one");
	open_as(&other, &h, "/two");
	slots_close(&s);
	slots_close(&other);
	h.alive = true;
	open_as(&s, &h, "/two");
	assert_int_equal(h.last, SLOT_CHUNK);
	assert_int_equal(slots_adopt(&s, SLOT_CHUNK + 3, &err), 0);
	assert_int_equal(slots_adopt(&s, SLOT_CHUNK + 3, &err), -1);
	assert_int_equal(slots_adopt(&s, 3, &err), -1);
	assert_int_equal(slots_take(&s, &slot, &err), 0);
	assert_int_equal(slot, SLOT_CHUNK);
	slots_close(&s);
	host_done(&h);
}

TEST(a_dead_instances_chunk_is_left_alone_while_something_of_it_lives)
{
	static struct slots s;
	struct fake_host h;

	host_make(&h);
	open_as(&s, &h, "/dead");
	slots_close(&s);
	h.alive = true;
	open_as(&s, &h, "/new");
	assert_int_equal(h.last, SLOT_CHUNK);
	slots_close(&s);
	h.alive = false;
	open_as(&s, &h, "/newer");
	assert_int_equal(h.last, 0);
	slots_close(&s);
	host_done(&h);
}

/* Somebody who has the lock for a moment, in a process of his own. */
static pid_t hold_for_a_moment(const struct fake_host *h, const char *chunk)
{
	char path[80];
	int ready[2];
	pid_t pid;

	(void)snprintf(path, sizeof(path), "%s/%s", h->path, chunk);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(path, O_RDWR | O_CLOEXEC);

		if (fd < 0 || flock(fd, LOCK_EX) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		(void)usleep(100000);
		_exit(0);
	}
	assert_int_equal(read(ready[0], path, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return pid;
}

TEST(a_restarted_broker_waits_for_who_looks_at_its_chunk)
{
	static struct slots s;
	struct error err = {0};
	struct fake_host h;
	int status;
	pid_t pid;

	host_make(&h);
	open_as(&s, &h, "/one");
	slots_close(&s);
	h.alive = true;
	pid = hold_for_a_moment(&h, "00");
	open_as(&s, &h, "/one");
	assert_int_equal(slots_adopt(&s, 3, &err), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	slots_close(&s);
	host_done(&h);
}

static bool is_locked;

static bool is_alive_and_unlocked(void *context, uint32_t first_slot)
{
	struct fake_host *h = context;
	char path[80];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%02u", h->path, first_slot / SLOT_CHUNK);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	is_locked = is_locked || flock(fd, LOCK_EX | LOCK_NB) < 0;
	(void)close(fd);
	return true;
}

TEST(looking_at_the_chunk_of_a_living_instance_does_not_lock_it)
{
	static struct slots s;
	struct error err = {0};
	struct fake_host h;

	host_make(&h);
	open_as(&s, &h, "/one");
	slots_close(&s);
	s = (struct slots){.is_alive = is_alive_and_unlocked, .on_claim = on_claim, .context = &h};
	is_locked = false;
	assert_int_equal(slots_open(&s, h.path, "/two", &err), 0);
	assert_int_equal(h.last, SLOT_CHUNK);
	assert_false(is_locked);
	slots_close(&s);
	host_done(&h);
}

TEST(a_host_has_an_end)
{
	static struct slots s;
	struct error err = {0};
	struct fake_host h;
	uint32_t slot;

	host_make(&h);
	open_as(&s, &h, "/data");
	for (uint32_t i = 0; i < SLOT_CHUNKS_MAX * SLOT_CHUNK; i++)
		assert_int_equal(slots_take(&s, &slot, &err), 0);
	assert_int_equal(slots_take(&s, &slot, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	/* the highest ids stay below those that are for files on disk */
	assert_true(id_base(slot) + ID_COUNT <= ID_STORED);
	slots_close(&s);
	host_done(&h);
}

TEST(the_folder_may_not_be_a_link)
{
	static struct slots s;
	struct error err = {0};
	struct fake_host h, other;
	char link[80];

	host_make(&h);
	host_make(&other);
	(void)snprintf(link, sizeof(link), "%s/link", other.path);
	assert_int_equal(symlink(h.path, link), 0);
	(void)snprintf(other.path + strlen(other.path), 6, "/link");
	assert_int_equal(try_open(&s, &other, "/data", &err), -1);
	other.path[strlen(other.path) - 5] = '\0';
	host_done(&other);
	host_done(&h);
}

int main(void)
{
	return RUN(CASE(slots_go_round_before_one_is_used_again),
	           CASE(another_chunk_is_claimed_when_one_is_full),
	           CASE(two_instances_never_share_a_slot),
	           CASE(a_restarted_broker_gets_its_chunks_back),
	           CASE(a_dead_instances_chunk_is_left_alone_while_something_of_it_lives),
	           CASE(a_restarted_broker_waits_for_who_looks_at_its_chunk),
	           CASE(looking_at_the_chunk_of_a_living_instance_does_not_lock_it),
	           CASE(a_host_has_an_end), CASE(the_folder_may_not_be_a_link));
}
