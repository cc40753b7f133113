/* SPDX-License-Identifier: Apache-2.0 */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct attempt *const tables[] = {mount_attempts, process_attempts, kernel_attempts,
                                               network_attempts};
#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

enum outcome broke_out(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("BROKE OUT: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	return BROKE_OUT;
}

enum outcome held(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("held: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	return HELD;
}

enum outcome expect_refused(long result, const char *what)
{
	if (result < 0)
		return held("%s: %s", what, strerror(errno));
	return broke_out("%s succeeded (%ld)", what, result);
}

enum outcome expect_no_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);
	enum outcome outcome = expect_refused(fd, path);

	if (fd >= 0)
		close(fd);
	return outcome;
}

enum outcome worst(const enum outcome *outcomes, unsigned count)
{
	enum outcome result = HELD;

	for (unsigned i = 0; i < count; i++)
		if (outcomes[i] == BROKE_OUT)
			result = BROKE_OUT;
	return result;
}

static int list_attempts(void)
{
	for (unsigned t = 0; t < TABLE_COUNT; t++)
		for (const struct attempt *a = tables[t]; a->name; a++)
			printf("%s\t%s\n", a->name, a->about);
	return 0;
}

/* They would do real harm on a host: run only where process 1 is Atoll's agent. */
static bool is_in_a_sandbox(void)
{
	char name[16] = "";
	int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	(void)!read(fd, name, sizeof(name) - 1);
	close(fd);
	return strncmp(name, "atoll-agent", 11) == 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list_attempts();
	if (argc < 2) {
		fprintf(stderr, "usage: attempts NAME [ARGUMENT] | --list\n");
		return NOT_TRIED;
	}
	if (!is_in_a_sandbox()) {
		fprintf(stderr, "process 1 is not atoll-agent: this is no sandbox\n");
		return NOT_TRIED;
	}
	for (unsigned t = 0; t < TABLE_COUNT; t++)
		for (const struct attempt *a = tables[t]; a->name; a++)
			if (strcmp(a->name, argv[1]) == 0)
				return a->run(argc > 2 ? argv[2] : "");
	fprintf(stderr, "no attempt named '%s'\n", argv[1]);
	return NOT_TRIED;
}
