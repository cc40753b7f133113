/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

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

/* 1 = locked, 0 = somebody else has it. */
static int lock_chunk(struct slots *s, unsigned chunk, int *ret_fd, struct error *err)
{
	char name[16];
	AUTO_CLOSE int fd = -1;

	(void)snprintf(name, sizeof(name), "%02u", chunk);
	fd = openat(s->folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_ERRNO(err, "open the slot chunk '%s'", name);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : FAIL_ERRNO(err, "lock the slot chunk '%s'", name);
	*ret_fd = TAKE_FD(fd);
	return 1;
}

static int read_owner(int fd, struct buf *out, struct error *err)
{
	if (lseek(fd, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "read a slot chunk");
	return fd_read_to_end(fd, out, err);
}

static int write_owner(int fd, const char *owner, struct error *err)
{
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "write a slot chunk");
	return fd_write_all(fd, owner, strlen(owner), err);
}

/* 1 = claimed, 0 = not to be had. `only_known`: leave those alone that are not marked as ours. */
static int claim_chunk(struct slots *s, unsigned chunk, bool only_known, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(sizeof(s->owner));
	AUTO_CLOSE int fd = -1;
	int locked = lock_chunk(s, chunk, &fd, err);
	bool known;

	if (locked <= 0)
		return locked;
	if (read_owner(fd, &text, err) < 0)
		return -1;
	known = strcmp(buf_text(&text), s->owner) == 0;
	if (!known &&
	    (only_known || (text.size > 0 && s->is_alive(s->context, chunk * SLOT_CHUNK))))
		return 0;
	if (!known && write_owner(fd, s->owner, err) < 0)
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
			/* to the end of the chunk at once */
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
