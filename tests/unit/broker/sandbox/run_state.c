/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/host/host.h"
#include "broker/sandbox/run_state.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "unit.h"
#include "wire/broker_kind.h"

static struct host host;
static struct sandboxes sandboxes = {.host = &host};

struct folder {
	char path[64];
	int fd;
};

static void folder_make(struct folder *f)
{
	(void)snprintf(f->path, sizeof(f->path), "/tmp/atoll-state.XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	(void)snprintf(host.boot_id, sizeof(host.boot_id), "11111111-2222");
}

static void folder_done(struct folder *f)
{
	(void)unlinkat(f->fd, "state", 0);
	(void)close(f->fd);
	assert_int_equal(rmdir(f->path), 0);
}

static struct sandbox my_own(void)
{
	struct sandbox sandbox = {
	        .sandboxes = &sandboxes, .pid = getpid(), .slot = 17, .kind = BROKER_HOST};
	struct error err = {0};

	sandbox.disk_bytes = 4096;
	memcpy(sandbox.owner, "oooooooooooooooooooo", ID_SIZE);
	sandbox.lease_epoch = 7;
	sandbox.has_left_by_source = true;
	sandbox.created_unix_ms = 1234;
	sandbox.pidfd = sandbox.mounts_fd = -1;
	assert_int_equal(process_start_time(sandbox.pid, &sandbox.start_time, &err), 0);
	return sandbox;
}

TEST(a_living_sandbox_is_found_again)
{
	struct sandbox written = my_own(),
	               read = {.sandboxes = &sandboxes, .pidfd = -1, .mounts_fd = -1};
	struct error err = {0};
	struct folder f;

	folder_make(&f);
	assert_int_equal(run_state_write(&written, f.fd, &err), 0);
	assert_int_equal(run_state_read(&read, f.fd, &err), 0);
	assert_int_equal(read.pid, getpid());
	assert_int_equal(read.slot, 17);
	assert_int_equal(read.disk_bytes, 4096);
	assert_int_equal(read.created_unix_ms, 1234);
	assert_string_equal(read.owner, written.owner);
	assert_int_equal(read.lease_epoch, 7);
	assert_true(read.has_left_by_source);
	assert_true(read.pidfd >= 0);
	(void)close(read.pidfd);
	folder_done(&f);
}

TEST(a_pid_that_is_somebody_elses_by_now_is_not_adopted)
{
	struct sandbox written = my_own(),
	               read = {.sandboxes = &sandboxes, .pidfd = -1, .mounts_fd = -1};
	struct error err = {0};
	struct folder f;

	folder_make(&f);
	written.start_time++;
	assert_int_equal(run_state_write(&written, f.fd, &err), 0);
	assert_int_equal(run_state_read(&read, f.fd, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(read.pidfd, -1);
	folder_done(&f);
}

TEST(nothing_is_adopted_from_before_the_machine_started)
{
	struct sandbox written = my_own(),
	               read = {.sandboxes = &sandboxes, .pidfd = -1, .mounts_fd = -1};
	struct error err = {0};
	struct folder f;

	folder_make(&f);
	assert_int_equal(run_state_write(&written, f.fd, &err), 0);
	(void)snprintf(host.boot_id, sizeof(host.boot_id), "33333333-4444");
	assert_int_equal(run_state_read(&read, f.fd, &err), -1);
	folder_done(&f);
}

TEST(a_state_that_is_not_ours_is_refused)
{
	static const char *const bad[] = {"",
	                                  "atoll-box-1",
	                                  "atoll-box-2 b 1 1 1 0 0 0 1 1",
	                                  "atoll-box-1 b 0 1 1 0 0 0 1 1",
	                                  "atoll-box-1 b -5 1 1 0 0 0 1 1",
	                                  "atoll-box-1 b 1 1 4000000000 0 0 0 1 1",
	                                  "atoll-box-1 b x 1 1 0 0 0 1 1"};
	struct sandbox sandbox = {.sandboxes = &sandboxes};
	struct error err = {0};
	char boot_id[64];

	for (unsigned i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(run_state_parse(&sandbox, bad[i], boot_id, &err), -1);
	assert_int_equal(
	        run_state_parse(&sandbox, "atoll-box-1 b 1 1 1 0 0 0 1 1\n", boot_id, &err), 0);
	/* Of an earlier release: without a tag. */
	assert_int_equal(
	        run_state_parse(&sandbox, "atoll-box-1 b 1 1 1 0 0 0 1 1 base\n", boot_id, &err),
	        0);
	assert_string_equal(sandbox.owner, "");
	assert_int_equal(sandbox.lease_epoch, 0);
	assert_false(sandbox.has_left_by_source);
}

int main(void)
{
	return RUN(CASE(a_living_sandbox_is_found_again),
	           CASE(a_pid_that_is_somebody_elses_by_now_is_not_adopted),
	           CASE(nothing_is_adopted_from_before_the_machine_started),
	           CASE(a_state_that_is_not_ours_is_refused));
}
