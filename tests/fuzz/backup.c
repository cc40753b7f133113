/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a backup: manifest, files and end are read as an upload is before it is taken, which
 * writes nothing. What is found never exceeds what the manifest and the server allow. */
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/backup_jail.h"
#include "image/jail.h"

#define SIZE_MAX_BYTES (1 << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How far it is goes to standard output. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int null = open("/dev/null", O_WRONLY);

	(void)argc;
	(void)argv;
	if (sodium_init() < 0 || null < 0 || dup2(null, STDOUT_FILENO) < 0)
		abort();
	return 0;
}

static void put_source(const uint8_t *data, size_t size)
{
	int fd = memfd_create("backup", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0 ||
	    dup2(fd, JAIL_SOURCE_FD) < 0)
		abort();
	if (fd != JAIL_SOURCE_FD)
		(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct jailed_backup task;
	const struct backup backup = {.size_max = SIZE_MAX_BYTES};

	memset(&task.failure, 0, sizeof(task.failure));
	memset(&task.outcome, 0, sizeof(task.outcome));
	task.opaque_size = 0;
	task.backup = &backup;
	task.is_dry = true;
	put_source(data, size);
	if (backup_unpack(&task) == 0) {
		if (task.failure.code != ERROR_NONE || task.outcome.bytes > SIZE_MAX_BYTES ||
		    strlen(task.outcome.sha256) != BACKUP_DIGEST_SIZE - 1)
			abort();
	} else if (task.failure.code == ERROR_NONE || !task.failure.text[0]) {
		abort();
	}
	if (task.opaque_size > sizeof(task.opaque) ||
	    (task.opaque_size > 0 && task.opaque[task.opaque_size - 1] != '\0'))
		abort();
	return 0;
}
