/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"

#define LOCK_WAIT_MS                                                                               \
	5000 /* for our own chunk: another broker holds the lock for a moment while it reads the   \
	        file */
#define LOCK_PAUSE_MS 2

bool slots_is_ours(const struct slots *s, uint32_t slot)
{
	return slot / SLOT_CHUNK < SLOT_CHUNKS_MAX && s->locks[slot / SLOT_CHUNK] >= 0;
}

bool slots_is_used(const struct slots *s, uint32_t slot)
{
	return slot < SLOTS_MAX && (s->used[slot / 8] >> slot % 8 & 1);
}

static void set_used(struct slots *s, uint32_t slot, bool used)
{
	unsigned char bit = (unsigned char)(1u << slot % 8);

	if (used)
		s->used[slot / 8] |= bit;
	else
		s->used[slot / 8] &= (unsigned char)~bit;
}

void slots_release(struct slots *s, uint32_t slot)
{
	if (slot < SLOTS_MAX)
		set_used(s, slot, false);
}

static int open_chunk(struct slots *s, unsigned chunk, int *ret_fd, struct error *err)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%02u", chunk);
	*ret_fd = openat(s->folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*ret_fd < 0)
		return FAIL_ERRNO(err, "open the slot chunk '%s'", name);
	return 0;
}

/* 1: locked; 0: another broker has the lock. */
static int lock_chunk(int fd, int64_t wait_until, struct error *err)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return FAIL_ERRNO(err, "lock a slot chunk");
		if (clock_monotonic_ms() >= wait_until)
			return 0;
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return 1;
}

static int write_owner(int fd, const char *owner, struct error *err)
{
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "write a slot chunk");
	return fd_write_all(fd, owner, strlen(owner), err);
}

enum chunk_owner { CHUNK_OTHERS = 0, CHUNK_FREE, CHUNK_OURS };

/* Returns an enum chunk_owner; -1: the file cannot be read. */
static int read_owner(struct slots *s, unsigned chunk, int fd, bool only_known, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(sizeof(s->owner));

	if (lseek(fd, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "read a slot chunk");
	if (fd_read_to_end(fd, &text, err) < 0)
		return -1;
	if (strcmp(buf_text(&text), s->owner) == 0)
		return CHUNK_OURS;
	if (only_known || (text.size > 0 && s->is_alive(s->context, chunk * SLOT_CHUNK)))
		return CHUNK_OTHERS;
	return CHUNK_FREE;
}

/* 1: claimed; 0: not available. `only_known`: claims only chunks that are marked as ours. The file
 * is read before it is locked: our lock, even for a moment, would keep a broker that is restarting
 * from its own chunk, and so from its sandboxes. */
static int claim_chunk(struct slots *s, unsigned chunk, bool only_known, struct error *err)
{
	int64_t wait_until = only_known ? deadline_after(LOCK_WAIT_MS) : 0;
	AUTO_CLOSE int fd = -1;
	int owner, locked;

	if (open_chunk(s, chunk, &fd, err) < 0)
		return -1;
	owner = read_owner(s, chunk, fd, only_known, err);
	if (owner < 0 || owner == CHUNK_OTHERS)
		return owner;
	locked = lock_chunk(fd, wait_until, err);
	if (locked <= 0)
		return locked;
	/* The last holder of the lock may have taken the chunk over. */
	owner = read_owner(s, chunk, fd, only_known, err);
	if (owner < 0 || owner == CHUNK_OTHERS)
		return owner;
	if (owner == CHUNK_FREE && write_owner(fd, s->owner, err) < 0)
		return -1;
	s->locks[chunk] = TAKE_FD(fd);
	s->on_claim(s->context, chunk * SLOT_CHUNK);
	return 1;
}

static int claim_any(struct slots *s, struct error *err)
{
	for (unsigned i = 0; i < SLOT_CHUNKS_MAX; i++) {
		int claimed = s->locks[i] < 0 ? claim_chunk(s, i, false, err) : 0;

		if (claimed != 0)
			return claimed < 0 ? -1 : 0;
	}
	return FAIL(err, ERROR_LIMIT, "all %u slots of this host are in use",
	            SLOT_CHUNKS_MAX * SLOT_CHUNK);
}

static int claim_known(struct slots *s, struct error *err)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SLOT_CHUNKS_MAX; i++) {
		int claimed = claim_chunk(s, i, true, err);

		if (claimed < 0)
			return -1;
		count += (unsigned)claimed;
	}
	return count ? 0 : claim_any(s, err);
}

static int make_folders(const char *path, struct error *err)
{
	char copy[4096];

	(void)snprintf(copy, sizeof(copy), "%s/", path);
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make the folder '%s'", copy);
		*slash = '/';
	}
	return 0;
}

int slots_open(struct slots *s, const char *folder, const char *owner, struct error *err)
{
	for (unsigned i = 0; i < SLOT_CHUNKS_MAX; i++)
		s->locks[i] = -1;
	memset(s->used, 0, sizeof(s->used));
	s->next = 0;
	(void)snprintf(s->owner, sizeof(s->owner), "%s", owner);
	if (make_folders(folder, err) < 0)
		return -1;
	s->folder = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->folder < 0)
		return FAIL_ERRNO(err, "open '%s'", folder);
	if (claim_known(s, err) == 0)
		return 0;
	slots_close(s);
	return -1;
}

void slots_close(struct slots *s)
{
	for (unsigned i = 0; i < SLOT_CHUNKS_MAX; i++)
		fd_forget(&s->locks[i]);
	fd_forget(&s->folder);
}

static bool find_free(struct slots *s, uint32_t *ret)
{
	uint32_t total = SLOT_CHUNKS_MAX * SLOT_CHUNK;

	for (uint32_t i = 0; i < total; i++) {
		uint32_t slot = (s->next + i) % total;

		if (!slots_is_ours(s, slot)) {
			/* continue behind the chunk */
			i += SLOT_CHUNK - 1 - slot % SLOT_CHUNK;
			continue;
		}
		if (slots_is_used(s, slot))
			continue;
		s->next = (slot + 1) % total;
		*ret = slot;
		return true;
	}
	return false;
}

int slots_take(struct slots *s, uint32_t *ret, struct error *err)
{
	if (!find_free(s, ret)) {
		if (claim_any(s, err) < 0)
			return -1;
		if (!find_free(s, ret))
			return FAIL(err, ERROR_LIMIT, "no slot is free");
	}
	set_used(s, *ret, true);
	return 0;
}

int slots_adopt(struct slots *s, uint32_t slot, struct error *err)
{
	if (!slots_is_ours(s, slot))
		return FAIL(err, ERROR_CONFLICT, "slot %u is not in a chunk of ours", slot);
	if (slots_is_used(s, slot))
		return FAIL(err, ERROR_CONFLICT, "slot %u is in use", slot);
	set_used(s, slot, true);
	return 0;
}
