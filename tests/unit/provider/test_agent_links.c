/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "provider/agent_links.h"

#define SANDBOX "abcdefghijklmnopqrst"
#define OTHER "bcdefghijklmnopqrstu"

/* A run folder with one agent that listens. */
struct fixture {
	char dir[64], folder[96], path[128];
	int listener;
	struct agent_links *links;
};

static void start(struct fixture *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(f->dir, sizeof(f->dir), "/tmp/atoll-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->folder, sizeof(f->folder), "%s/%s", f->dir, SANDBOX);
	snprintf(f->path, sizeof(f->path), "%s/agent.sock", f->folder);
	assert_int_equal(mkdir(f->folder, 0755), 0);
	memcpy(address.sun_path, f->path, strlen(f->path) + 1);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(f->listener, 64), 0);
	f->links = agent_links_new(f->dir);
}

static void stop(struct fixture *f)
{
	agent_links_free(f->links);
	close(f->listener);
	unlink(f->path);
	rmdir(f->folder);
	rmdir(f->dir);
}

static int connect_one(struct fixture *f)
{
	struct error err = {0};
	int fd = -1;

	if (agent_links_connect(f->links, SANDBOX, deadline_after(5000), &fd, &err) < 0)
		fail_msg("%s", err.text);
	return fd;
}

TEST(what_was_given_back_is_taken_again)
{
	struct fixture f;

	start(&f);
	assert_int_equal(agent_links_take(f.links, SANDBOX), -1);
	int fd = connect_one(&f);
	agent_links_give_back(f.links, SANDBOX, fd);
	assert_int_equal(agent_links_take(f.links, OTHER), -1);
	assert_int_equal(agent_links_take(f.links, SANDBOX), fd);
	assert_int_equal(agent_links_take(f.links, SANDBOX), -1);
	close(fd);
	stop(&f);
}

TEST(a_connection_that_the_agent_closed_is_not_taken)
{
	struct fixture f;

	start(&f);
	int fd = connect_one(&f);
	int agent = accept(f.listener, NULL, NULL);
	agent_links_give_back(f.links, SANDBOX, fd);
	close(agent);
	assert_int_equal(agent_links_take(f.links, SANDBOX), -1);
	stop(&f);
}

TEST(a_connection_on_which_something_waits_is_not_kept)
{
	struct fixture f;

	start(&f);
	int fd = connect_one(&f);
	int agent = accept(f.listener, NULL, NULL);
	assert_int_equal(write(agent, "x", 1), 1);
	agent_links_give_back(f.links, SANDBOX, fd);
	assert_int_equal(agent_links_take(f.links, SANDBOX), -1);
	close(agent);
	stop(&f);
}

TEST(only_a_few_wait_for_each_sandbox)
{
	struct fixture f;
	int fds[12], taken = 0;

	start(&f);
	for (int i = 0; i < 12; i++)
		fds[i] = connect_one(&f);
	for (int i = 0; i < 12; i++)
		agent_links_give_back(f.links, SANDBOX, fds[i]);
	for (int fd; (fd = agent_links_take(f.links, SANDBOX)) >= 0; taken++)
		close(fd);
	assert_int_equal(taken, 8);
	stop(&f);
}

TEST(dropping_and_sweeping_close_what_waits)
{
	struct fixture f;

	start(&f);
	agent_links_give_back(f.links, SANDBOX, connect_one(&f));
	agent_links_drop(f.links, OTHER);
	agent_links_sweep(f.links, 60000);
	int fd = agent_links_take(f.links, SANDBOX);
	assert_true(fd >= 0);
	agent_links_give_back(f.links, SANDBOX, fd);
	agent_links_drop(f.links, SANDBOX);
	assert_int_equal(agent_links_take(f.links, SANDBOX), -1);
	agent_links_give_back(f.links, SANDBOX, connect_one(&f));
	agent_links_sweep(f.links, -1);
	assert_int_equal(agent_links_take(f.links, SANDBOX), -1);
	stop(&f);
}

TEST(a_connection_that_comes_back_blocks_again)
{
	struct fixture f;

	start(&f);
	int fd = connect_one(&f);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	agent_links_give_back(f.links, SANDBOX, fd);
	assert_int_equal(agent_links_take(f.links, SANDBOX), fd);
	assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	stop(&f);
}

TEST(names_that_are_no_ids_are_refused_and_one_that_has_ended_is_unavailable)
{
	struct fixture f;
	struct error err = {0};
	int fd = -1;

	start(&f);
	assert_int_equal(agent_links_connect(f.links, "../x", DEADLINE_NEVER, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(agent_links_connect(f.links, OTHER, DEADLINE_NEVER, &fd, &err), -1);
	/* Not ERROR_NOT_FOUND: who reads a file would take it as missing. */
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	stop(&f);
}

TEST(an_agent_that_does_not_listen_is_unavailable)
{
	struct fixture f;
	struct error err = {0};
	int fd = -1;

	start(&f);
	shutdown(f.listener, SHUT_RDWR);
	assert_int_equal(agent_links_connect(f.links, SANDBOX, DEADLINE_NEVER, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	stop(&f);
}

TEST(a_symbolic_link_in_place_of_the_socket_is_not_followed)
{
	struct fixture f;
	struct error err = {0};
	char elsewhere[160];
	int fd = -1;

	start(&f);
	snprintf(elsewhere, sizeof(elsewhere), "%s.real", f.path);
	assert_int_equal(rename(f.path, elsewhere), 0);
	assert_int_equal(symlink("agent.sock.real", f.path), 0);
	assert_int_equal(agent_links_connect(f.links, SANDBOX, DEADLINE_NEVER, &fd, &err), -1);
	assert_int_equal(fd, -1);
	unlink(elsewhere);
	stop(&f);
}

TEST(a_run_folder_deeper_than_a_socket_address_works)
{
	struct fixture f;
	char deep[600], from[128];
	struct error err = {0};
	int fd = -1;

	start(&f);
	snprintf(deep, sizeof(deep), "%s/%0200d", f.dir, 0);
	assert_int_equal(mkdir(deep, 0755), 0);
	snprintf(from, sizeof(from), "%s", f.folder);
	snprintf(deep + strlen(deep), 100, "/%s", SANDBOX);
	assert_int_equal(rename(from, deep), 0);
	*strrchr(deep, '/') = '\0';
	struct agent_links *links = agent_links_new(deep);
	assert_int_equal(agent_links_connect(links, SANDBOX, deadline_after(5000), &fd, &err), 0);
	close(fd);
	agent_links_free(links);
	deep[strlen(deep)] = '/';
	assert_int_equal(rename(deep, from), 0);
	*strrchr(deep, '/') = '\0';
	rmdir(deep);
	stop(&f);
}

int main(void)
{
	return RUN(CASE(what_was_given_back_is_taken_again),
	           CASE(a_connection_that_the_agent_closed_is_not_taken),
	           CASE(a_connection_on_which_something_waits_is_not_kept),
	           CASE(only_a_few_wait_for_each_sandbox),
	           CASE(dropping_and_sweeping_close_what_waits),
	           CASE(a_connection_that_comes_back_blocks_again),
	           CASE(names_that_are_no_ids_are_refused_and_one_that_has_ended_is_unavailable),
	           CASE(an_agent_that_does_not_listen_is_unavailable),
	           CASE(a_symbolic_link_in_place_of_the_socket_is_not_followed),
	           CASE(a_run_folder_deeper_than_a_socket_address_works));
}
