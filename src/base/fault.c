/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME "ATOLL_FAULT"

static bool is_wanted(const char *place, const char *step, const char *what)
{
	const char *wanted = getenv(NAME);
	char here[96];

	if (!wanted)
		return false;
	(void)snprintf(here, sizeof(here), "%s:%s:%s", place, step, what);
	return strcmp(wanted, here) == 0;
}

void fault_point(const char *place, const char *step)
{
	if (is_wanted(place, step, "stop"))
		(void)raise(SIGSTOP);
	if (!is_wanted(place, step, "kill"))
		return;
	(void)raise(SIGKILL);
	_exit(128 + SIGKILL); /* process 1 of a namespace cannot kill itself */
}

int fault_failure(const char *place, const char *step, struct error *err)
{
	if (is_wanted(place, step, "fail"))
		return FAIL(err, ERROR_SYSTEM, "step '%s' of '%s' was made to fail", step, place);
	return 0;
}

static const volatile int64_t *clock_offset;
static pthread_once_t clock_once = PTHREAD_ONCE_INIT;

static void open_clock(void)
{
	const char *path = getenv(NAME "_CLOCK");
	void *memory = MAP_FAILED;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		memory = mmap(NULL, sizeof(*clock_offset), PROT_READ, MAP_SHARED, fd, 0);
		(void)close(fd);
	}
	if (memory != MAP_FAILED)
		clock_offset = memory;
}

int64_t fault_clock_offset_ms(void)
{
	(void)pthread_once(&clock_once, open_clock);
	return clock_offset ? *clock_offset : 0;
}

const char *fault_entry(const char *place)
{
	size_t name = strlen(NAME), size = strlen(place);

	for (char **entry = environ; entry && *entry; entry++)
		if (strncmp(*entry, NAME "=", name + 1) == 0 &&
		    strncmp(*entry + name + 1, place, size) == 0 &&
		    (*entry)[name + 1 + size] == ':')
			return *entry;
	return NULL;
}
