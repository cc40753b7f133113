/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/image_user.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/user.h"
#include "base/fd.h"
#include "base/log.h"

#define NAME "user"
#define HOME "/home/" NAME
#define PROJECT HOME "/project"
#define ID_FIRST 1000
#define ID_LAST 1100

/* Not through a link, and without waiting for the other end of a pipe. */
static int open_table(const char *path)
{
	struct stat st;
	AUTO_CLOSE int fd =
	        open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? TAKE_FD(fd) : -1;
}

static int add_line(const char *path, const char *line, struct error *err)
{
	AUTO_CLOSE int fd = open_table(path);
	char last = '\n';

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	off_t size = lseek(fd, 0, SEEK_END);
	if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n' &&
	    fd_write_all(fd, "\n", 1, err) < 0)
		return -1;
	return fd_write_all(fd, line, strlen(line), err);
}

/* A number that no user and no group of the image has. */
static unsigned find_free_id(void)
{
	AUTO(user_names_done) struct user_names names = {0};
	char text[64], number[16];

	user_names_read(&names);
	for (unsigned id = ID_FIRST; id < ID_LAST; id++) {
		(void)snprintf(number, sizeof(number), "%u", id);
		user_name_of(&names, id, text);
		if (strcmp(text, number) != 0)
			continue;
		user_group_of(&names, id, text);
		if (strcmp(text, number) == 0)
			return id;
	}
	return 0;
}

static int add_user(unsigned id, struct error *err)
{
	char line[128];
	const char *shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";

	(void)snprintf(line, sizeof(line), NAME ":x:%u:\n", id);
	if (add_line("/etc/group", line, err) < 0)
		return -1;
	(void)snprintf(line, sizeof(line), NAME ":x:%u:%u::" HOME ":%s\n", id, id, shell);
	return add_line("/etc/passwd", line, err);
}

static void make_folder(const char *path, unsigned owner)
{
	if (mkdir(path, 0755) == 0)
		(void)!lchown(path, owner, owner);
}

void image_user_add(void)
{
	struct error err = {0};
	struct user user;

	if (geteuid() != 0) {
		(void)mkdir(PROJECT, 0755);
		return;
	}
	if (user_find(NAME, &user, &err) == 0)
		return;
	unsigned id = find_free_id();
	error_clear(&err);
	if (id == 0 || add_user(id, &err) < 0) {
		log_warning("the image takes no user '" NAME "'", FAILURE(&err));
		return;
	}
	make_folder("/home", 0);
	make_folder(HOME, id);
	make_folder(PROJECT, id);
}
