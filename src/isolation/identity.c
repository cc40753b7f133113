/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "isolation/identity_texts.h"
#include "isolation/plan.h"

void identity_texts(struct arena *a, const struct isolation_identity *identity,
                    struct identity_file ret[ISOLATION_IDENTITY_FILES])
{
	ret[0] = (struct identity_file){"/etc/hostname",
	                                arena_format(a, "%s\n", identity->hostname)};
	ret[1] = (struct identity_file){
	        "/etc/hosts", arena_format(a,
	                                   "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n"
	                                   "127.0.1.1\t%s\n",
	                                   identity->hostname)};
	ret[2] = (struct identity_file){"/etc/machine-id",
	                                arena_format(a, "%s\n", identity->machine_id)};
}

/* The file below ISOLATION_FILES that the mount over `target` shows. */
static int open_file(const char *target, int *ret_fd, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), ISOLATION_FILES "%s", strrchr(target, '/'));
	*ret_fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the file '%s'", path) : 0;
}

int isolation_identity_open(int ret_fds[ISOLATION_IDENTITY_FILES], struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct identity_file files[ISOLATION_IDENTITY_FILES];

	identity_texts(&a, &(struct isolation_identity){"", ""}, files);
	for (unsigned i = 0; i < ISOLATION_IDENTITY_FILES; i++) {
		if (open_file(files[i].target, &ret_fds[i], err) == 0)
			continue;
		while (i > 0)
			fd_forget(&ret_fds[--i]);
		return -1;
	}
	return 0;
}

/* Written in place: the page exists and is charged to the sandbox; a new page would be charged to
 * the writer. */
static int write_file(int fd, const struct identity_file *file, struct error *err)
{
	size_t size = strlen(file->text);

	if (pwrite(fd, file->text, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size) < 0)
		return FAIL_ERRNO(err, "write '%s' of a sandbox", file->target);
	return 0;
}

int isolation_identify(const int fds[ISOLATION_IDENTITY_FILES],
                       const struct isolation_identity *identity, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct identity_file files[ISOLATION_IDENTITY_FILES];

	identity_texts(&a, identity, files);
	for (unsigned i = 0; i < ISOLATION_IDENTITY_FILES; i++)
		if (write_file(fds[i], &files[i], err) < 0)
			return -1;
	return 0;
}
