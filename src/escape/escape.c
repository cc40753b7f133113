/* SPDX-License-Identifier: Apache-2.0 */
#include "escape/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "escape/attempt.h"

static const struct attempt_function *const tables[] = {mount_attempts,     process_attempts,
                                                        kernel_attempts,    network_attempts,
                                                        neighbour_attempts, limit_attempts};

__attribute__((format(printf, 2, 0))) static void print_report(const char *word, const char *format,
                                                               va_list args)
{
	(void)printf("%s: ", word);
	(void)vprintf(format, args);
	(void)printf("\n");
}

enum escape_status report_escape(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_report("through", format, args);
	va_end(args);
	return ESCAPE_THROUGH;
}

enum escape_status report_held(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_report("held", format, args);
	va_end(args);
	return ESCAPE_HELD;
}

enum escape_status report_not_tried(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_report("not tried", format, args);
	va_end(args);
	return ESCAPE_NOT_TRIED;
}

enum escape_status expect_refused(long result, const char *subject)
{
	if (result < 0)
		return report_held("%s: %s", subject, strerror(errno));
	return report_escape("%s succeeded", subject);
}

enum escape_status expect_no_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);
	enum escape_status status = expect_refused(fd, path);

	if (fd >= 0)
		(void)close(fd);
	return status;
}

enum escape_status worst_of(const enum escape_status *list, unsigned count)
{
	enum escape_status worst = ESCAPE_HELD;

	for (unsigned i = 0; i < count; i++)
		if (list[i] == ESCAPE_THROUGH)
			worst = ESCAPE_THROUGH;
	return worst;
}

static void read_start(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, ret, size - 1);

	if (fd >= 0)
		(void)close(fd);
	ret[got > 0 ? got : 0] = '\0';
}

/* The agent's program has another name in a container and in a virtual machine. */
static bool is_first_process_an_agent(void)
{
	char name[32], line[4096];

	read_start("/proc/1/comm", name, sizeof(name));
	read_start("/proc/cmdline", line, sizeof(line));
	return strncmp(name, "atoll-agent", 11) == 0 || strcmp(name, "agent\n") == 0 ||
	       (strcmp(name, "init\n") == 0 && strstr(line, " rdinit=/init -- --machine "));
}

static const struct escape_row *find_row(const char *id)
{
	for (const struct escape_row *row = escape_rows; row->id; row++)
		if (strcmp(row->id, id) == 0)
			return row;
	return NULL;
}

static const struct attempt_function *find_function(const char *id)
{
	for (unsigned t = 0; t < COUNT_OF(tables); t++)
		for (const struct attempt_function *f = tables[t]; f->id; f++)
			if (strcmp(f->id, id) == 0)
				return f;
	return NULL;
}

static int make_attempt(const char *id, const char *argument)
{
	const struct escape_row *row = find_row(id);
	const struct attempt_function *function = find_function(id);

	if (!row || !function)
		return report_not_tried("there is no attempt '%s'", id);
	if ((row->flags & ESCAPE_NEEDS_AGENT) && !is_first_process_an_agent())
		return report_not_tried("it would harm a machine whose process 1 is no agent");
	return function->attempt(argument);
}

static int print_kernel(void)
{
	char text[512];

	escape_describe_kernel(text, sizeof(text));
	(void)printf("%s\n", text);
	return ESCAPE_HELD;
}

static int make_link(const char *target, const char *path)
{
	if (symlink(target, path) == 0)
		return ESCAPE_HELD;
	return report_not_tried("link '%s': %s", path, strerror(errno));
}

int escape_main(int argc, char **argv)
{
	(void)setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 2 && strcmp(argv[1], "--kernel") == 0)
		return print_kernel();
	if (argc == 3 && strcmp(argv[1], "--serve") == 0)
		return serve_neighbour(argv[2]);
	if (argc == 4 && strcmp(argv[1], "--link") == 0)
		return make_link(argv[2], argv[3]);
	if (argc == 2 || argc == 3)
		return make_attempt(argv[1], argc == 3 ? argv[2] : "");
	(void)fprintf(stderr, "usage: " ESCAPE_PROGRAM " ID [ARGUMENT]\n");
	return ESCAPE_NOT_TRIED;
}
