/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "isolation/confine.h"
#include "unit.h"

/* Whether `check` holds in a process of its own. */
static bool holds_in_child(bool (*check)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check() ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static char place[128];

static bool sees_the_folder_alone(void)
{
	int folder = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), view;
	struct error err = {0};

	/* The process itself stays where it was. */
	if (view_of_folder(folder, place, &view, &err) < 0 || access(place, F_OK) < 0)
		return false;
	return view_enter(view, &err) == 0 && access("/inside", F_OK) == 0 &&
	       access("/usr", F_OK) < 0 && chdir("..") == 0 && access("inside", F_OK) == 0;
}

static bool reads_the_host_and_writes_nothing(void)
{
	char path[160];
	struct error err = {0};
	int view;

	(void)snprintf(path, sizeof(path), "%s/new", place);
	return view_of_host(&view, &err) == 0 && view_enter(view, &err) == 0 &&
	       access("/usr", F_OK) == 0 && open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0;
}

static bool keeps_two_capabilities(void)
{
	const uint64_t kept = UINT64_C(1) << CAP_CHOWN | UINT64_C(1) << CAP_FOWNER;
	struct error err = {0};

	return confine_capabilities(kept, &err) == 0 && prctl(PR_CAPBSET_READ, CAP_CHOWN) == 1 &&
	       prctl(PR_CAPBSET_READ, CAP_FOWNER) == 1 &&
	       prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

static void check_as_root(bool (*check)(void))
{
	char path[160];

	if (geteuid() != 0)
		skip();
	unit_folder(place, sizeof(place), "confine");
	(void)snprintf(path, sizeof(path), "%s/inside", place);
	assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	assert_true(holds_in_child(check));
	unit_remove_folder(place);
}

TEST(a_view_of_a_folder_has_nothing_else)
{
	check_as_root(sees_the_folder_alone);
}

TEST(a_view_of_the_host_can_only_be_read)
{
	check_as_root(reads_the_host_and_writes_nothing);
}

TEST(capabilities_that_are_not_kept_are_gone)
{
	check_as_root(keeps_two_capabilities);
}

int main(void)
{
	return RUN(CASE(a_view_of_a_folder_has_nothing_else),
	           CASE(a_view_of_the_host_can_only_be_read),
	           CASE(capabilities_that_are_not_kept_are_gone));
}
