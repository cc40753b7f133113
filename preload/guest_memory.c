/* SPDX-License-Identifier: Apache-2.0 */
/* A library that QEMU loads before all others (LD_PRELOAD), so that virtual machines share the file
 * of their memory and write none of it.
 *
 * QEMU opens a memory file for writing. In a sandbox that would copy the whole file out of the
 * layer that it is shared in. This library opens the file that ATOLL_GUEST_MEMORY names read-only,
 * and maps it copy-on-write. QEMU still calls the memory shared, and so leaves it out of a saved
 * state. Its option readonly=on does the same only from version 8.2 on. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int memory_fd = -1;

static bool is_memory(const char *path)
{
	const char *memory = getenv("ATOLL_GUEST_MEMORY");

	return memory && path && strcmp(path, memory) == 0;
}

static int open_file(const char *path, int flags, mode_t mode)
{
	static int (*next)(const char *, int, ...);

	if (!next)
		next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
	if (!is_memory(path))
		return next(path, flags, mode);
	memory_fd = next(path, O_RDONLY | O_CLOEXEC);
	return memory_fd;
}

static mode_t mode_of(int flags, va_list arguments)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t)
	                                                             : 0;
}

int open(const char *path, int flags, ...)
{
	va_list arguments;

	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list arguments;

	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_file(path, flags, mode);
}

/* What programs call that were compiled with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	return open_file(path, flags, 0);
}

int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
	return open_file(path, flags, 0);
}

static void *map_file(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	static void *(*next)(void *, size_t, int, int, int, off_t);

	if (!next)
		next = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap64");
	if (fd >= 0 && fd == memory_fd)
		flags = (flags & ~MAP_TYPE) | MAP_PRIVATE;
	return next(address, size, protection, flags, fd, offset);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	return map_file(address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
	return map_file(address, size, protection, flags, fd, offset);
}
