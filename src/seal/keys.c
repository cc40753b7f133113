/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/keys.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/path.h"
#include "base/random.h"

#define FILE_BYTES_MAX 4096

void key_make(struct seal_key *ret)
{
	id_random_text(ret->name, sizeof(ret->name));
	random_bytes(ret->bytes, sizeof(ret->bytes));
}

static bool parse_line(struct span line, struct seal_key *ret)
{
	struct span name;

	if (!span_split(&line, ' ', &name) || name.size != KEY_NAME_SIZE)
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz234567", name.data[i]))
			return false;
	memcpy(ret->name, name.data, KEY_NAME_SIZE);
	ret->name[KEY_NAME_SIZE] = '\0';
	return hex_decode(line, ret->bytes, KEY_BYTES) == 0;
}

static int parse_keys(struct span text, const char *path, struct seal_keys *ret, struct error *err)
{
	struct span line;

	ret->count = 0;
	while (text.size > 0) {
		(void)span_split(&text, '\n', &line);
		if (line.size == 0)
			continue;
		if (ret->count == KEYS_MAX)
			return FAIL(err, ERROR_LIMIT, "'%s' has more than %d keys", path, KEYS_MAX);
		if (!parse_line(line, &ret->items[ret->count])) {
			(void)FAIL(err, ERROR_INVALID, "'%s': line %zu is not a key", path,
			           ret->count + 1);
			return FAIL_HINT(err,
			                 "a line is %d letters, a space and %d hexadecimal digits",
			                 KEY_NAME_SIZE, 2 * KEY_BYTES);
		}
		ret->count++;
	}
	if (ret->count == 0)
		return FAIL(err, ERROR_INVALID, "'%s' has no key", path);
	return 0;
}

static int check_mode(int fd, const char *path, struct stat *ret, struct error *err)
{
	if (fstat(fd, ret) < 0)
		return FAIL_ERRNO(err, "look at '%s'", path);
	if (!S_ISREG(ret->st_mode))
		return FAIL(err, ERROR_INVALID, "'%s' is not a file", path);
	if ((ret->st_mode & 077) == 0)
		return 0;
	/* Root keeps it, and the group of this process may read it: a Secret of a cluster, mounted
	 * for a pod that does not run as root. */
	if (ret->st_uid == 0 && geteuid() != 0 && (ret->st_mode & 037) == 0)
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "users other than its owner can access '%s'", path);
	return FAIL_HINT(err, "chmod 600, and consider that others may have read it");
}

int keys_read(const char *path, struct seal_keys *ret, struct error *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	AUTO(buf_done) struct buf text = BUF(FILE_BYTES_MAX);
	struct seal_keys keys = {.count = 0};
	int result = -1;

	if (fd < 0)
		return FAIL_ERRNO(err, "open the key file '%s'", path);
	if (check_mode(fd, path, &keys.seen, err) == 0 && fd_read_to_end(fd, &text, err) == 0 &&
	    parse_keys(buf_span(&text), path, &keys, err) == 0) {
		*ret = keys;
		result = 0;
	}
	sodium_memzero(&keys, sizeof(keys));
	if (text.data)
		sodium_memzero(text.data, text.capacity);
	return result;
}

static void print_keys(const struct seal_keys *keys, char *out)
{
	for (size_t i = 0; i < keys->count; i++) {
		memcpy(out, keys->items[i].name, KEY_NAME_SIZE);
		out[KEY_NAME_SIZE] = ' ';
		(void)sodium_bin2hex(out + KEY_NAME_SIZE + 1, 2 * KEY_BYTES + 1,
		                     keys->items[i].bytes, KEY_BYTES);
		out += KEY_NAME_SIZE + 1 + 2 * KEY_BYTES;
		*out++ = '\n';
	}
}

int keys_write(const char *path, struct seal_keys *keys, struct error *err)
{
	char text[KEYS_MAX * (KEY_NAME_SIZE + 2 + 2 * KEY_BYTES) + 1];
	struct span all = {text, keys->count * (KEY_NAME_SIZE + 2 + 2 * KEY_BYTES)};
	int result;

	print_keys(keys, text);
	result = file_write(AT_FDCWD, path, all, 0600, err);
	sodium_memzero(text, sizeof(text));
	if (result < 0)
		return -1;
	return stat(path, &keys->seen) == 0 ? 0 : FAIL_ERRNO(err, "look at '%s'", path);
}

static int open_beside(const char *path, const char *end, int *ret_fd, struct error *err)
{
	AUTO(buf_done) struct buf name = BUF(PATH_SIZE_MAX);

	buf_addf(&name, "%s%s", path, end);
	if (name.overflowed)
		return FAIL(err, ERROR_INVALID, "the key file's path is too long");
	*ret_fd = open(buf_text(&name), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open '%s'", buf_text(&name)) : 0;
}

int keys_lock(const char *path, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (open_beside(path, ".lock", &fd, err) < 0)
		return -1;
	if (flock(fd, LOCK_EX) < 0)
		return FAIL_ERRNO(err, "lock '%s'", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int keys_lock_rotation(const char *path, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (open_beside(path, ".rotating", &fd, err) < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
		               ? FAIL(err, ERROR_CONFLICT, "another rotation of keys is running")
		               : FAIL_ERRNO(err, "lock '%s'", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int keys_make(const char *path, struct seal_keys *ret, struct error *err)
{
	AUTO_CLOSE int lock_fd = -1;
	struct seal_keys keys = {.count = 1};

	if (access(path, F_OK) == 0)
		return keys_read(path, ret, err);
	if (keys_lock(path, &lock_fd, err) < 0)
		return -1;
	if (access(path, F_OK) < 0) {
		key_make(&keys.items[0]);
		if (keys_write(path, &keys, err) < 0)
			return -1;
		sodium_memzero(&keys, sizeof(keys));
	}
	return keys_read(path, ret, err);
}
