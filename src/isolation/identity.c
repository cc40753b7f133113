/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

void identity_texts(struct arena *a, const struct isolation_identity *identity,
                    struct identity_file ret[IDENTITY_FILES])
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

/* Through the file below ISOLATION_FILES, which the mount over `target` shows. */
static int write_file(const struct identity_file *file, struct error *err)
{
	char path[64];
	AUTO_CLOSE int fd = -1;

	(void)snprintf(path, sizeof(path), ISOLATION_FILES "%s", strrchr(file->target, '/'));
	fd = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(err, "open the file '%s'", path);
	return fd_write_all(fd, file->text, strlen(file->text), err);
}

int isolation_identify(const struct isolation_identity *identity, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct identity_file files[IDENTITY_FILES];

	identity_texts(&a, identity, files);
	for (unsigned i = 0; i < IDENTITY_FILES; i++)
		if (write_file(&files[i], err) < 0)
			return -1;
	return 0;
}
