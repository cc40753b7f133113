/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/microvm/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "provider/entries.h"
#include "provider/microvm/memory.h"
#include "provider/native/broker_provider.h"

#define FOLDER "microvm/kept"
#define NOTE_MAX 256
#define SETTLE_MS 30000

/* "ready NAME" or "saving NAME" */
int kept_note(const struct microvm_provider *m, const char *id, const struct microvm_kept *kept,
              struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(NOTE_MAX);

	buf_addf(&text, "%s %s", kept->is_ready ? "ready" : "saving", kept->name);
	return file_write(m->kept_fd, id, buf_span(&text), 0600, err);
}

bool kept_find(const struct microvm_provider *m, const char *id, struct microvm_kept *ret)
{
	AUTO(buf_done) struct buf text = BUF(NOTE_MAX);
	struct error ignored = {0};
	struct span rest, state;

	if (!id_is_valid(id) || faccessat(m->kept_fd, id, F_OK, 0) < 0 ||
	    file_read(m->kept_fd, id, &text, &ignored) < 0)
		return false;
	rest = buf_span(&text);
	if (!span_split(&rest, ' ', &state) || rest.size != ID_SIZE)
		return false;
	*ret = (struct microvm_kept){.is_ready = span_equals_text(state, "ready")};
	memcpy(ret->name, rest.data, ID_SIZE);
	return id_is_valid(ret->name);
}

int kept_forget(const struct microvm_provider *m, const char *id, struct error *err)
{
	if (unlinkat(m->kept_fd, id, 0) < 0)
		return errno == ENOENT ? 0 : FAIL_ERRNO(err, "remove the note of '%s'", id);
	return fsync(m->kept_fd) < 0 ? FAIL_ERRNO(err, "write '" FOLDER "' to the disk") : 0;
}

static bool is_running(const struct provider_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->entries[i].id, id) == 0)
			return list->entries[i].running;
	return false;
}

/* A sandbox that does not run has lost the memory that was being saved, and nothing else. */
static int settle_note(struct microvm_provider *m, const char *id, bool runs, struct error *err)
{
	struct microvm_kept kept;
	int64_t deadline = deadline_after(SETTLE_MS);

	if (!kept_find(m, id, &kept))
		return 0;
	log_info("the memory of a virtual machine was being moved", TEXT("sandbox", id),
	         TEXT("state", kept.is_ready ? "ready" : "saving"));
	if (kept.is_ready)
		return runs ? broker_provider_stop(m->shells, id, 0, deadline, err) : 0;
	if (runs && memory_continue(&m->base, id, kept.name, deadline, err) < 0)
		return -1;
	return kept_forget(m, id, err);
}

static int settle_notes(struct microvm_provider *m, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(folder_list_done) DIR *folder = folder_list_at(m->kept_fd, ".");
	struct provider_list list;
	struct dirent *entry;

	if (!folder)
		return FAIL_ERRNO(err, "list '" FOLDER "'");
	if (broker_provider_list(m->shells, &arena, &list, err) < 0)
		return -1;
	while ((entry = readdir(folder))) {
		struct error why = {0};

		if (id_is_valid(entry->d_name) &&
		    settle_note(m, entry->d_name, is_running(&list, entry->d_name), &why) < 0)
			log_warning("the memory of a virtual machine is not settled",
			            TEXT("sandbox", entry->d_name), FAILURE(&why));
	}
	return 0;
}

int kept_recover(struct microvm_provider *m, struct error *err)
{
	static const char *const folders[] = {"microvm", FOLDER};
	char path[PATH_SIZE_MAX];

	/* atolld has made the first (daemon/data.c). */
	for (size_t i = 0; i < COUNT_OF(folders); i++) {
		(void)snprintf(path, sizeof(path), "%.4000s/%s", m->data_dir, folders[i]);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make the folder '%s'", path);
	}
	m->kept_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (m->kept_fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	/* The lock is of this descriptor: another provider of this kind has notes of its own work
	 * here. */
	return flock(m->kept_fd, LOCK_EX | LOCK_NB) < 0 ? 0 : settle_notes(m, err);
}

void kept_close(struct microvm_provider *m)
{
	fd_forget(&m->kept_fd);
}
