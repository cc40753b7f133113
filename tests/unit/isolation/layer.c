/* SPDX-License-Identifier: Apache-2.0 */
/* Layers for real: needs root, leaves nothing, mounts nothing where anybody could see it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/ids.h"
#include "isolation/isolation.h"
#include "isolation/layer.h"
#include "unit.h"

#define SLOT 28001u

struct files {
	int lower, upper; /* layers */
	int ids, stored;  /* maps */
	int disk;         /* the upper layer as it is stored */
	int root;
};

static void make_file(int folder, const char *name, mode_t mode)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "text", 4), 4);
	(void)close(fd);
}

/* A template's map: as the agent's namespace would have it. */
static int open_ids(void)
{
	int ready[2], fd;
	char path[64], byte;
	struct error err = {0};
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(id_map_write(pid, SLOT, &err), 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return fd;
}

static void open_files(struct files *f)
{
	struct layer_options options = {.map_fd = -1};
	struct error err = {0};
	int lower, upper;

	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	/* Memory filesystems have maps since Linux 6.3. */
	assert_int_equal(layer_make("tmpfs", "mode=0755", 0, &lower, &err), 0);
	assert_int_equal(layer_make("tmpfs", "mode=0755", 0, &upper, &err), 0);
	make_file(lower, "public", 0644);
	make_file(lower, "secret", 0600);
	assert_int_equal(mkdirat(upper, "upper", 0755), 0);
	assert_int_equal(mkdirat(upper, "work", 0755), 0);
	assert_int_equal(fchownat(upper, "upper", ID_STORED, ID_STORED, 0), 0);
	assert_int_equal(fchownat(upper, "work", ID_STORED, ID_STORED, 0), 0);
	f->disk = upper;
	f->ids = open_ids();
	assert_int_equal(id_map_open(SLOT, &f->stored, &err), 0);
	options.map_fd = f->ids;
	assert_int_equal(layer_open(lower, "", &options, &f->lower, &err), 0);
	options.map_fd = f->stored;
	assert_int_equal(layer_open(upper, "", &options, &f->upper, &err), 0);
	assert_int_equal(layer_overlay(&(struct overlay_options){&f->lower, 1, f->upper, -1},
	                               &f->root, &err),
	                 0);
	(void)close(lower);
}

static void close_files(struct files *f)
{
	(void)close(f->root);
	(void)close(f->lower);
	(void)close(f->upper);
	(void)close(f->ids);
	(void)close(f->stored);
	(void)close(f->disk);
}

static uid_t owner(int folder, const char *name)
{
	struct stat status;

	assert_int_equal(fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW), 0);
	return status.st_uid;
}

/* As root of the sandbox: 0 = it went well. */
static int as_root_inside(int root, int (*act)(int root))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		uid_t id = id_base(SLOT);

		if (setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
			_exit(200);
		_exit(act(root));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

TEST(a_templates_files_belong_to_root_of_the_sandbox)
{
	struct files f;

	open_files(&f);
	assert_int_equal(owner(f.root, "public"), id_base(SLOT));
	close_files(&f);
}

static int write_some(int root)
{
	int fd = openat(root, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 04755);

	if (fd < 0 || write(fd, "x", 1) != 1)
		return errno;
	fd = openat(root, "public", O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, "x", 1) != 1)
		return errno;
	return unlinkat(root, "secret", 0) < 0 ? errno : 0;
}

TEST(what_a_sandbox_writes_belongs_to_nobody_on_disk)
{
	struct files f;

	open_files(&f);
	assert_int_equal(as_root_inside(f.root, write_some), 0);
	assert_int_equal(owner(f.disk, "upper/new"), ID_STORED);
	assert_int_equal(owner(f.disk, "upper/public"), ID_STORED);
	/* overlayfs's own mark of a deleted file is the host's root's, and that is not 0 either */
	assert_int_equal(owner(f.disk, "upper/secret"), ID_STORED_HOST);
	assert_int_equal(owner(f.root, "new"), id_base(SLOT));
	close_files(&f);
}

TEST(devices_do_not_work_whatever_a_layer_brings)
{
	struct files f;

	open_files(&f);
	assert_int_equal(mknodat(f.disk, "upper/null", S_IFCHR | 0666, 0x103), 0);
	assert_int_equal(openat(f.root, "null", O_WRONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, EACCES);
	close_files(&f);
}

/* In a child with mounts of its own, as the broker has them. */
TEST(an_overlay_can_be_made_of_mounts_that_have_a_place)
{
	char scratch_path[] = "/tmp/atoll-layer.XXXXXX";
	struct files f;
	int status;
	pid_t pid;

	open_files(&f);
	/* one overlay at a time over one upper layer */
	(void)close(f.root);
	f.root = -1;
	assert_non_null(mkdtemp(scratch_path));
	pid = fork();
	if (pid == 0) {
		struct error err = {0};
		int scratch, root;

		if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
			_exit(1);
		scratch = open(scratch_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (layer_overlay_placed(&(struct overlay_options){&f.lower, 1, f.upper, scratch},
		                         &root, &err) < 0) {
			(void)fprintf(stderr, "%s\n", err.text);
			_exit(2);
		}
		_exit(faccessat(root, "public", R_OK, 0) == 0 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* nothing is left in the folder */
	assert_int_equal(rmdir(scratch_path), 0);
	close_files(&f);
}

TEST(a_layer_that_does_not_exist_is_an_error)
{
	struct layer_options options = {.map_fd = -1};
	struct error err = {0};
	int fd;

	if (geteuid() != 0)
		skip();
	assert_int_equal(layer_open(AT_FDCWD, "/no/such", &options, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(layer_make("nosuchfs", "", 0, &fd, &err), -1);
	assert_int_equal(layer_make("tmpfs", "nosuchoption=1", 0, &fd, &err), -1);
}

TEST(this_host_can_isolate_or_says_what_it_lacks)
{
	struct error err = {0};

	if (isolation_check_host(&err) < 0)
		assert_int_equal(err.code, ERROR_UNSUPPORTED);
}

int main(void)
{
	return RUN(CASE(a_templates_files_belong_to_root_of_the_sandbox),
	           CASE(what_a_sandbox_writes_belongs_to_nobody_on_disk),
	           CASE(devices_do_not_work_whatever_a_layer_brings),
	           CASE(an_overlay_can_be_made_of_mounts_that_have_a_place),
	           CASE(a_layer_that_does_not_exist_is_an_error),
	           CASE(this_host_can_isolate_or_says_what_it_lacks));
}
