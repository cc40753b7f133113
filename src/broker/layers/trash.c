/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/layers/trash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/layers/stack.h"
#include "broker/layers/stacks.h"
#include "broker/layers/trash_note.h"

#define BYTES_LINK "bytes"
#define ENTRIES_MAX 100000
#define PATH_SIZE (TRASH_NAME_SIZE + 40)

static const char *const kind_names[BROKER_TRASH_KIND_COUNT] = {
        [BROKER_TRASH_SANDBOX] = "sandbox",
        [BROKER_TRASH_SNAPSHOT] = "snapshot",
        [BROKER_TRASH_LAYER] = "layer",
};
static const char *const reason_names[BROKER_TRASH_REASON_COUNT] = {
        [BROKER_TRASH_ORPHAN] = "orphan",
        [BROKER_TRASH_DELETED] = "deleted",
};

/* Where the folders of an entry go back to. The folder that BROKER_LIST reads comes last. */
static const struct {
	const char *name;
	enum host_folder folder;
} parts[] = {
        {"host-files", FOLDER_HOST_FILES},
        {"snapshots", FOLDER_SNAPSHOTS},
        {"sandboxes", FOLDER_SANDBOXES},
};

void trash_name_format(const struct trash_entry *entry, char out[TRASH_NAME_SIZE])
{
	(void)snprintf(out, TRASH_NAME_SIZE, "%s.%s.%" PRIu64 ".%s", kind_names[entry->kind],
	               entry->id, entry->until_s, reason_names[entry->reason]);
}

static bool find_word(const char *const *words, unsigned count, struct span word, unsigned *ret)
{
	for (unsigned i = 0; i < count; i++) {
		if (span_equals_text(word, words[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

bool trash_name_parse(const char *name, struct trash_entry *ret)
{
	struct span rest = span_of(name), kind_word, id, until;
	struct trash_entry entry = {.bytes = UINT64_MAX};
	struct error ignored = {0};
	unsigned kind, reason;
	int64_t until_s;

	if (!span_split(&rest, '.', &kind_word) || !span_split(&rest, '.', &id) ||
	    !span_split(&rest, '.', &until) || id.size != ID_SIZE ||
	    !find_word(kind_names, COUNT_OF(kind_names), kind_word, &kind) ||
	    !find_word(reason_names, COUNT_OF(reason_names), rest, &reason) ||
	    span_parse_whole(until, 0, INT64_MAX, &until_s, &ignored) < 0)
		return false;
	entry.kind = (enum broker_trash_kind)kind;
	entry.reason = (enum broker_trash_reason)reason;
	entry.until_s = (uint64_t)until_s;
	memcpy(entry.id, id.data, ID_SIZE);
	if (!id_is_valid(entry.id))
		return false;
	*ret = entry;
	return true;
}

static uint64_t read_bytes(const struct host *host, const char *name)
{
	char path[PATH_SIZE], text[32];
	struct error ignored = {0};
	ssize_t size;
	int64_t bytes;

	(void)snprintf(path, sizeof(path), "%.*s/" BYTES_LINK, TRASH_NAME_SIZE, name);
	size = readlinkat(host->folders[FOLDER_KEPT], path, text, sizeof(text) - 1);
	if (size <= 0)
		return UINT64_MAX;
	text[size] = '\0';
	if (span_parse_whole(span_of(text), 0, INT64_MAX, &bytes, &ignored) < 0)
		return UINT64_MAX;
	return (uint64_t)bytes;
}

void trash_each(const struct host *host,
                void (*on_entry)(void *context, const struct trash_entry *entry), void *context)
{
	AUTO(folder_list_done) DIR *folder = folder_list(host->folders[FOLDER_KEPT]);
	struct dirent *found;
	struct trash_entry entry;

	if (!folder) {
		log_error("cannot list the trash", NUMBER("errno", errno));
		return;
	}
	while ((found = readdir(folder))) {
		if (!trash_name_parse(found->d_name, &entry))
			continue;
		entry.bytes = read_bytes(host, found->d_name);
		on_entry(context, &entry);
	}
}

struct entry_list {
	struct buf items; /* of struct trash_entry */
};

static void entry_list_done(struct entry_list *list)
{
	buf_done(&list->items);
}

static void add_entry(void *context, const struct trash_entry *entry)
{
	struct entry_list *list = context;

	buf_add(&list->items, entry, sizeof(*entry));
}

static int compare_entries(const void *a, const void *b)
{
	const struct trash_entry *x = a, *y = b;

	return x->until_s < y->until_s ? -1 : x->until_s > y->until_s;
}

/* Sorted: the entry that is due first comes first. */
static struct trash_entry *list_entries(const struct host *host, struct entry_list *list,
                                        size_t *ret_count)
{
	list->items = BUF(ENTRIES_MAX * sizeof(struct trash_entry));
	trash_each(host, add_entry, list);
	*ret_count = list->items.size / sizeof(struct trash_entry);
	if (*ret_count > 0)
		qsort(list->items.data, *ret_count, sizeof(struct trash_entry), compare_entries);
	return (void *)list->items.data;
}

static bool is_entry_of(const struct trash_entry *entry, enum broker_trash_kind kind,
                        const char *id)
{
	return entry->kind == kind && strcmp(entry->id, id) == 0;
}

static bool entry_has_files(const struct host *host, const struct trash_entry *entry)
{
	char name[TRASH_NAME_SIZE], path[PATH_SIZE];

	trash_name_format(entry, name);
	(void)snprintf(path, sizeof(path), "%s/sandboxes", name);
	return faccessat(host->folders[FOLDER_KEPT], path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool trash_has_sandbox(const struct host *host, const char *id)
{
	AUTO(entry_list_done) struct entry_list list = {0};
	size_t count;
	const struct trash_entry *entries = list_entries(host, &list, &count);

	for (size_t i = 0; i < count; i++)
		if (is_entry_of(&entries[i], BROKER_TRASH_SANDBOX, id) &&
		    entry_has_files(host, &entries[i]))
			return true;
	return false;
}

static int make_entry(const struct host *host, enum broker_trash_kind kind, const char *id,
                      const struct trash_note *note, char out[TRASH_NAME_SIZE], struct error *err)
{
	struct trash_entry entry = {.kind = kind,
	                            .reason = note->reason,
	                            .until_s = (uint64_t)(clock_unix_ms() / 1000) + note->keep_s};

	(void)snprintf(entry.id, sizeof(entry.id), "%s", id);
	trash_name_format(&entry, out);
	if (mkdirat(host->folders[FOLDER_KEPT], out, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the entry '%s' in the trash", out);
	return 0;
}

static int move_part(const struct host *host, enum host_folder from, const char *id,
                     const char *entry, struct error *err)
{
	char path[PATH_SIZE];

	for (unsigned i = 0; i < COUNT_OF(parts); i++) {
		if (parts[i].folder != from)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", entry, parts[i].name);
		if (renameat(host->folders[from], id, host->folders[FOLDER_KEPT], path) < 0 &&
		    errno != ENOENT)
			return FAIL_ERRNO(err, "put '%s' into the trash", id);
	}
	return 0;
}

/* An entry without files may have been measured. */
static bool has_only_bytes(const struct host *host, const char *entry)
{
	AUTO(folder_list_done)
	DIR *folder = folder_list_at(host->folders[FOLDER_KEPT], entry);
	struct dirent *found;

	while (folder && (found = readdir(folder)))
		if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0 &&
		    strcmp(found->d_name, BYTES_LINK) != 0)
			return false;
	return folder != NULL;
}

static bool drop_if_empty(const struct host *host, const char *entry)
{
	int kept = host->folders[FOLDER_KEPT];
	char path[PATH_SIZE];

	if (unlinkat(kept, entry, AT_REMOVEDIR) == 0)
		return true;
	if (!has_only_bytes(host, entry))
		return false;
	(void)snprintf(path, sizeof(path), "%s/" BYTES_LINK, entry);
	return unlinkat(kept, path, 0) == 0 && unlinkat(kept, entry, AT_REMOVEDIR) == 0;
}

/* A kill may have cut a put short between its entry and the first rename. */
static void drop_unused_entries(const struct host *host, enum broker_trash_kind kind,
                                const char *id)
{
	AUTO(folder_list_done) DIR *folder = folder_list(host->folders[FOLDER_KEPT]);
	struct dirent *found;
	struct trash_entry entry;

	while (folder && (found = readdir(folder)))
		if (trash_name_parse(found->d_name, &entry) && is_entry_of(&entry, kind, id))
			(void)drop_if_empty(host, found->d_name);
}

static bool is_in_place(const struct host *host, enum host_folder folder, const char *id)
{
	return faccessat(host->folders[folder], id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int trash_put_sandbox(struct layer_stacks *c, const char *id, const struct trash_note *note,
                      struct error *err)
{
	const struct host *host = c->host;
	char entry[TRASH_NAME_SIZE];

	drop_unused_entries(host, BROKER_TRASH_SANDBOX, id);
	/* A repeated put makes no entry, which a list would show until it is dropped. */
	if (!is_in_place(host, FOLDER_HOST_FILES, id) && !is_in_place(host, FOLDER_SANDBOXES, id))
		return 0;
	if (make_entry(host, BROKER_TRASH_SANDBOX, id, note, entry, err) < 0)
		return -1;
	fault_point("broker", "trash-entry");
	if (move_part(host, FOLDER_HOST_FILES, id, entry, err) < 0 ||
	    move_part(host, FOLDER_SANDBOXES, id, entry, err) < 0)
		return -1;
	fault_point("broker", "trash-moved");
	(void)drop_if_empty(host, entry);
	return 0;
}

int trash_put_layer(const struct host *host, const char *id, const struct trash_note *note,
                    struct error *err)
{
	char entry[TRASH_NAME_SIZE];

	if (make_entry(host, BROKER_TRASH_LAYER, id, note, entry, err) < 0)
		return -1;
	return move_part(host, FOLDER_SNAPSHOTS, id, entry, err);
}

/* An existing entry has the same stack. */
static int write_stack(const struct host *host, const char *entry, const struct layer_stack *stack,
                       struct error *err)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, entry);
	if (layer_stack_write(host->folders[FOLDER_KEPT], path, stack, err) == 0)
		return 0;
	if (err->sys_errno != EEXIST)
		return -1;
	error_clear(err);
	return 0;
}

int trash_put_snapshot(struct layer_stacks *c, const char *id, const struct trash_note *note,
                       struct error *err)
{
	char entry[TRASH_NAME_SIZE];
	struct layer_stack stack;

	if (layer_stacks_find(c, id, &stack, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	if (make_entry(c->host, BROKER_TRASH_SNAPSHOT, id, note, entry, err) < 0 ||
	    write_stack(c->host, entry, &stack, err) < 0)
		return -1;
	layer_stacks_set_role(c, id, LAYER_STACK_TRASHED, &stack);
	fault_point("broker", "trash-snapshot");
	return layer_stacks_remove(c, id, err);
}

static void drop_entry(const struct host *host, const struct trash_entry *entry)
{
	char name[TRASH_NAME_SIZE];
	struct error err = {0};

	trash_name_format(entry, name);
	if (host_trash(host, FOLDER_KEPT, name, &err) < 0)
		log_warning("an entry of the trash is left", TEXT("entry", name), FAILURE(&err));
}

/* Returns the number of folders that came back; 0 for an entry whose making was interrupted. */
static int restore_files(const struct host *host, const struct trash_entry *entry,
                         struct error *err)
{
	char name[TRASH_NAME_SIZE], path[PATH_SIZE];
	int count = 0;

	trash_name_format(entry, name);
	for (unsigned i = 0; i < COUNT_OF(parts); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, parts[i].name);
		if (renameat2(host->folders[FOLDER_KEPT], path, host->folders[parts[i].folder],
		              entry->id, RENAME_NOREPLACE) == 0) {
			count++;
			continue;
		}
		if (errno == ENOENT)
			continue;
		if (errno == EEXIST)
			return FAIL(err, ERROR_CONFLICT,
			            "'%s/%s' exists already: it is not replaced from the trash",
			            parts[i].name, entry->id);
		return FAIL_ERRNO(err, "bring '%s' back from the trash", entry->id);
	}
	return count;
}

static int restore_snapshot(struct layer_stacks *c, const char *id, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/" KEPT_LINK, id);
	if (symlinkat("snapshot", c->host->folders[FOLDER_SNAPSHOTS], path) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "mark the snapshot '%s'", id);
	if (layer_stacks_add(c, id, err) < 0)
		return -1;
	layer_stacks_set_role(c, id, LAYER_STACK_TRASHED, NULL);
	return 1;
}

int trash_bring_back(struct layer_stacks *c, enum broker_trash_kind kind, const char *id,
                     struct error *err)
{
	AUTO(entry_list_done) struct entry_list list = {0};
	size_t count;
	const struct trash_entry *entries = list_entries(c->host, &list, &count);
	int found = 0;

	for (size_t i = 0; i < count; i++) {
		int came;

		if (!is_entry_of(&entries[i], kind, id))
			continue;
		came = kind == BROKER_TRASH_SNAPSHOT ? restore_snapshot(c, id, err)
		                                     : restore_files(c->host, &entries[i], err);
		if (came < 0)
			return -1;
		fault_point("broker", "trash-back");
		drop_entry(c->host, &entries[i]);
		found += came;
	}
	if (found == 0)
		return FAIL(err, ERROR_NOT_FOUND, "%s '%s' is not in the trash", kind_names[kind],
		            id);
	return 0;
}

static bool sandbox_has_folder(const struct host *host, const char *id)
{
	return is_in_place(host, FOLDER_SANDBOXES, id);
}

/* Deletes entry `at` of the list and clears its id. Another entry of the same sandbox or snapshot
 * may still need the layers. */
static void purge_entry(struct layer_stacks *c, struct trash_entry *entries, size_t count,
                        size_t at)
{
	const struct trash_entry entry = entries[at];

	log_info("gone from the trash", TEXT("kind", kind_names[entry.kind]), TEXT("id", entry.id));
	drop_entry(c->host, &entry);
	entries[at].id[0] = '\0';
	for (size_t i = 0; i < count; i++)
		if (is_entry_of(&entries[i], entry.kind, entry.id))
			return;
	if (entry.kind == BROKER_TRASH_SNAPSHOT)
		layer_stacks_set_role(c, entry.id, LAYER_STACK_TRASHED, NULL);
	if (entry.kind != BROKER_TRASH_SANDBOX || sandbox_has_folder(c->host, entry.id))
		return;
	layer_stacks_set(c, entry.id, NULL);
	layer_stacks_set_role(c, entry.id, LAYER_STACK_ORIGIN, NULL);
}

int trash_purge(struct layer_stacks *c, enum broker_trash_kind kind, const char *id,
                UNUSED struct error *err)
{
	AUTO(entry_list_done) struct entry_list list = {0};
	size_t count;
	struct trash_entry *entries = list_entries(c->host, &list, &count);

	for (size_t i = 0; i < count; i++)
		if (is_entry_of(&entries[i], kind, id))
			purge_entry(c, entries, count, i);
	return 0;
}

static void trim_due(struct layer_stacks *c, struct trash_entry *entries, size_t count,
                     uint64_t now_s)
{
	for (size_t i = 0; i < count && entries[i].until_s <= now_s; i++)
		purge_entry(c, entries, count, i);
}

/* Entries that a caller deleted go before orphans, which are there by mistake: a project that
 * deletes much must not end the orphans of others. */
static void trim_bytes(struct layer_stacks *c, struct trash_entry *entries, size_t count,
                       uint64_t bytes_max)
{
	static const enum broker_trash_reason reasons[] = {BROKER_TRASH_DELETED,
	                                                   BROKER_TRASH_ORPHAN};
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		if (*entries[i].id && entries[i].bytes != UINT64_MAX)
			bytes += entries[i].bytes;
	for (size_t i = 0; i < COUNT_OF(reasons) * count && bytes > bytes_max; i++) {
		const struct trash_entry *entry = &entries[i % count];

		if (!*entry->id || entry->reason != reasons[i / count] ||
		    entry->bytes == UINT64_MAX)
			continue;
		log_warning(
		        "the trash has more bytes than 'trash_bytes_max': the oldest entry goes "
		        "before its time",
		        TEXT("id", entry->id), NUMBER("bytes", (int64_t)bytes));
		bytes -= entry->bytes;
		purge_entry(c, entries, count, i % count);
	}
}

void trash_trim(struct layer_stacks *c, uint64_t bytes_max, uint64_t back_s)
{
	AUTO(entry_list_done) struct entry_list list = {0};
	uint64_t wall_s = (uint64_t)(clock_unix_ms() / 1000);
	uint64_t now_s = wall_s > back_s ? wall_s - back_s : 0;
	size_t count;
	struct trash_entry *entries = list_entries(c->host, &list, &count);

	trim_due(c, entries, count, now_s);
	if (bytes_max > 0)
		trim_bytes(c, entries, count, bytes_max);
}

unsigned trash_make_room(struct layer_stacks *c, uint64_t bytes)
{
	AUTO(entry_list_done) struct entry_list list = {0};
	uint64_t freed = 0;
	unsigned gone = 0;
	size_t count;
	struct trash_entry *entries = list_entries(c->host, &list, &count);

	while (gone < count && (gone == 0 || freed < bytes)) {
		const struct trash_entry *entry = &entries[gone];

		log_warning("the disk of the data folder is nearly full: what is in the trash goes "
		            "before its time",
		            TEXT("kind", kind_names[entry->kind]), TEXT("id", entry->id),
		            NUMBER("missing_bytes", (int64_t)bytes));
		purge_entry(c, entries, count, gone++);
		if (entry->bytes == UINT64_MAX)
			break;
		freed += entry->bytes;
	}
	return gone;
}

static int adopt_entry(struct layer_stacks *c, const struct trash_entry *entry, struct error *err)
{
	AUTO_CLOSE int folder = -1;
	char name[TRASH_NAME_SIZE];
	struct layer_stack stack;

	trash_name_format(entry, name);
	/* A broker that was killed before it moved anything there leaves an empty entry. */
	if (unlinkat(c->host->folders[FOLDER_KEPT], name, AT_REMOVEDIR) == 0 ||
	    entry->kind == BROKER_TRASH_LAYER)
		return 0;
	folder = openat(c->host->folders[FOLDER_KEPT], name,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open the entry '%s' of the trash", name);
	if (entry->kind == BROKER_TRASH_SANDBOX)
		return sandbox_has_folder(c->host, entry->id) || !entry_has_files(c->host, entry)
		               ? 0
		               : layer_stacks_read_user(c, folder, "sandboxes", entry->id, err);
	if (layer_stack_read(folder, LAYER_STACK_LINK, &stack, err) < 0) {
		if (err->sys_errno != ENOENT)
			return -1;
		error_clear(err);
		return 0;
	}
	layer_stacks_set_role(c, entry->id, LAYER_STACK_TRASHED, &stack);
	return 0;
}

int trash_adopt(struct layer_stacks *c, struct error *err)
{
	AUTO(entry_list_done) struct entry_list list = {0};
	size_t count;
	const struct trash_entry *entries = list_entries(c->host, &list, &count);

	for (size_t i = 0; i < count; i++) {
		char name[TRASH_NAME_SIZE];

		/* A broker that was killed while it made an entry left it without files or stack:
		 * the sandbox or snapshot is still in its place. */
		trash_name_format(&entries[i], name);
		if (drop_if_empty(c->host, name) || adopt_entry(c, &entries[i], err) == 0)
			continue;
		/* The layers that it names must not be swept. */
		c->is_incomplete = true;
		log_error("an entry of the trash cannot be read", TEXT("id", entries[i].id),
		          FAILURE(err));
		error_clear(err);
	}
	return 0;
}
