/* SPDX-License-Identifier: Apache-2.0 */
/* What a broker that has been taken over may send to atoll-launch. */
#include "launch/server.h"

#include <dirent.h>

#include "base/bytes.h"
#include "base/log.h"
#include "served.h"

TEST(requests_of_a_wrong_size_kind_or_channel_are_refused)
{
	struct launch_id_map map = {.slot = 0};
	struct launch_read_only read_only = {.read_only = 1};
	struct launch_answer answer;
	struct served s;

	begin(&s, false);
	answer = ask_bytes(&s, (struct span){"abc", 3}, 0);
	assert_refused(&answer, ERROR_INVALID, "a request of 3 bytes");
	answer = ask(&s, LAUNCH_KIND_COUNT, NULL, 0);
	assert_refused(&answer, ERROR_INVALID, "unknown request");
	answer = ask(&s, UINT32_MAX, NULL, 0);
	assert_refused(&answer, ERROR_INVALID, "unknown request");
	answer = ask(&s, LAUNCH_ID_MAP, NULL, 0);
	assert_refused(&answer, ERROR_INVALID, "of 8 bytes");
	answer = ask(&s, LAUNCH_ID_MAP, &map, 1);
	assert_refused(&answer, ERROR_INVALID, "with 1 descriptors");
	answer = ask(&s, LAUNCH_READ_ONLY, &read_only, 1);
	assert_refused(&answer, ERROR_INVALID, "on the wrong channel");
	end(&s);
}

TEST(a_worker_opens_no_channel)
{
	struct launch_answer answer;
	struct served s;

	begin(&s, true);
	answer = ask(&s, LAUNCH_CHANNEL, NULL, 0);
	assert_refused(&answer, ERROR_INVALID, "on the wrong channel");
	end(&s);
}

TEST(a_channel_of_its_own_is_served_and_ends_alone)
{
	struct launch_answer answer;
	struct served s;

	begin(&s, false);
	for (unsigned i = 0; i < 50; i++) {
		answer = ask(&s, LAUNCH_CHANNEL, NULL, 0);
		assert_int_equal(answer.err.code, ERROR_NONE);
	}
	end(&s);
}

static struct launch_mount one_part(const char *path)
{
	struct launch_mount m = {.maps = {-1, -1, -1}, .count = 1, .parts = {{.fd = -1}}};

	(void)snprintf(m.parts[0].path, sizeof(m.parts[0].path), "%s", path);
	return m;
}

TEST(a_mount_lies_below_the_data_folder_and_no_link_is_followed)
{
	static const char *const outside[] = {"/etc", "../..", "templates/../../etc", "link/x",
	                                      "link"};
	struct launch_answer answer;
	struct launch_mount m;
	char link[96];
	struct served s;

	begin(&s, false);
	(void)snprintf(link, sizeof(link), "%s/link", s.folder);
	assert_int_equal(symlink("/etc", link), 0);
	for (unsigned i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		m = one_part(outside[i]);
		answer = ask(&s, LAUNCH_MOUNT, &m, 0);
		assert_int_not_equal(answer.err.code, ERROR_NONE);
	}
	end(&s);
}

TEST(counts_numbers_and_texts_of_a_mount_are_checked)
{
	struct launch_mount m = one_part("x");
	struct launch_answer answer;
	struct served s;

	begin(&s, false);
	m.count = LAUNCH_PARTS_MAX + 1;
	answer = ask(&s, LAUNCH_MOUNT, &m, 0);
	assert_refused(&answer, ERROR_INVALID, "a mount of");
	m.count = UINT32_MAX;
	answer = ask(&s, LAUNCH_MOUNT, &m, 0);
	assert_refused(&answer, ERROR_INVALID, "a mount of");
	m = one_part("x");
	m.parts[0].fd = 1;
	answer = ask(&s, LAUNCH_MOUNT, &m, 1);
	assert_refused(&answer, ERROR_INVALID, "descriptor 1");
	m = one_part("x");
	m.parts[0].map = LAUNCH_MAP_COUNT;
	answer = ask(&s, LAUNCH_MOUNT, &m, 0);
	assert_refused(&answer, ERROR_INVALID, "map");
	m.parts[0].map = LAUNCH_MAP_IDS;
	answer = ask(&s, LAUNCH_MOUNT, &m, 0);
	assert_refused(&answer, ERROR_INVALID, "descriptor -1");
	m = one_part("x");
	memset(m.parts[0].path, 'x', sizeof(m.parts[0].path));
	answer = ask(&s, LAUNCH_MOUNT, &m, 0);
	assert_refused(&answer, ERROR_INVALID, "no end");
	end(&s);
}

static unsigned count_fds(const struct served *s)
{
	char path[64];
	unsigned count = 0;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", s->pid);
	folder = opendir(path);
	assert_non_null(folder);
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count;
}

/* Requests of every kind with arbitrary bytes; a few words are small, as counts and numbers are. */
static void fill_request(char *bytes, size_t size, uint32_t *state)
{
	for (size_t i = 0; i < size; i++) {
		*state = *state * 1664525 + 1013904223;
		bytes[i] = i % 4 || *state >> 31 ? 0 : (char)(*state >> 24);
	}
}

static void flood(struct served *s, const bool *kinds, unsigned rounds)
{
	static char bytes[64 * 1024];
	uint32_t state = 1;

	for (unsigned i = 0; i < rounds; i++) {
		unsigned kind = i % LAUNCH_KIND_COUNT, fd_count = i / LAUNCH_KIND_COUNT % 6;
		size_t size = launch_request_size((enum launch_kind)kind);
		struct launch_answer answer;

		if (!kinds[kind])
			continue;
		fill_request(bytes, size, &state);
		answer = ask(s, kind, bytes, fd_count);
		assert_true(answer.err.code < ERROR_CODE_COUNT);
	}
}

/* Kinds that start programs or change the machine are left out. */
TEST(ten_thousand_requests_leave_no_descriptor_behind)
{
	static const bool kinds[LAUNCH_KIND_COUNT] = {
	        [LAUNCH_HOLD] = true,     [LAUNCH_MOUNT] = true,     [LAUNCH_ID_MAP] = true,
	        [LAUNCH_HOSTNAME] = true, [LAUNCH_WAIT] = true,      [LAUNCH_PROCESS] = true,
	        [LAUNCH_IMAGE] = true,    [LAUNCH_READ_ONLY] = true, [LAUNCH_REPLACE] = true};
	unsigned before;
	struct served s;

	for (unsigned is_worker = 0; is_worker < 2; is_worker++) {
		begin(&s, is_worker);
		flood(&s, kinds, 2 * LAUNCH_KIND_COUNT * 6);
		before = count_fds(&s);
		flood(&s, kinds, 10000);
		assert_int_equal(count_fds(&s), before);
		end(&s);
	}
}

int main(void)
{
	log_open("unit", LOG_ERROR);
	return RUN(CASE(requests_of_a_wrong_size_kind_or_channel_are_refused),
	           CASE(a_worker_opens_no_channel),
	           CASE(a_channel_of_its_own_is_served_and_ends_alone),
	           CASE(a_mount_lies_below_the_data_folder_and_no_link_is_followed),
	           CASE(counts_numbers_and_texts_of_a_mount_are_checked),
	           CASE(ten_thousand_requests_leave_no_descriptor_behind));
}
