/* SPDX-License-Identifier: Apache-2.0 */
#include "blob/blob.h"

#include <string.h>

#include "blob/local/local.h"

#define PARTS_MAX 4
#define LIST_MAX 1000

static bool is_part(struct span part)
{
	if (part.size == 0 || part.data[0] == '.')
		return false;
	for (size_t i = 0; i < part.size; i++)
		if (!part.data[i] ||
		    !strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", part.data[i]))
			return false;
	return true;
}

int blob_name_check(const char *name, struct error *err)
{
	struct span rest = span_of(name), part;
	unsigned count = 0;
	bool more;

	if (rest.size > BLOB_NAME_MAX)
		return FAIL(err, ERROR_INVALID, "a blob's name is longer than %d bytes",
		            BLOB_NAME_MAX);
	do {
		more = span_split(&rest, '/', &part);
		if (!is_part(part) || ++count > PARTS_MAX)
			return FAIL(err, ERROR_INVALID,
			            "'%.100s' is not a blob name: up to %d parts of a-z 0-9 . _ - "
			            "with '/' between them",
			            name, PARTS_MAX);
	} while (more);
	return 0;
}

int blob_open(const char *location, struct blob_store **ret, struct error *err)
{
	if (location[0] != '/') {
		(void)FAIL(err, ERROR_UNSUPPORTED, "'%.100s' cannot hold blobs", location);
		return FAIL_HINT(
		        err,
		        "give the absolute path of a folder; object stores are not supported yet");
	}
	return blob_local.open(location, ret, err);
}

void blob_close(struct blob_store *store)
{
	if (store)
		store->ops->close(store);
}

int blob_put(struct blob_store *store, const struct blob_put *put, struct blob_writer **ret,
             struct error *err)
{
	if (blob_name_check(put->name, err) < 0)
		return -1;
	if (put->size_max < 1 || put->size_max > BLOB_SIZE_MAX || put->size_hint > put->size_max)
		return FAIL(err, ERROR_TOO_LARGE, "a blob has at most %lld MiB",
		            (long long)(BLOB_SIZE_MAX >> 20));
	return store->ops->put(store, put, ret, err);
}

int blob_writer_fd(const struct blob_writer *w)
{
	return w->fd;
}

int blob_commit(struct blob_writer *w, int64_t *ret_size, struct error *err)
{
	return w->store->ops->commit(w, ret_size, err);
}

void blob_abort(struct blob_writer *w)
{
	if (w)
		w->store->ops->abort(w);
}

int blob_get(struct blob_store *store, const char *name, struct blob_range range, int *ret_fd,
             int64_t *ret_size, struct error *err)
{
	if (blob_name_check(name, err) < 0)
		return -1;
	if (range.offset < 0 || range.size < -1)
		return FAIL(err, ERROR_INVALID, "a range begins before its blob");
	return store->ops->get(store, name, range, ret_fd, ret_size, err);
}

int blob_stat(struct blob_store *store, const char *name, struct blob_stat *ret, struct error *err)
{
	return blob_name_check(name, err) < 0 ? -1 : store->ops->stat(store, name, ret, err);
}

int blob_list(struct blob_store *store, struct arena *a, const struct blob_filter *filter,
              struct blob_list *ret, struct error *err)
{
	size_t size = strlen(filter->prefix);
	char folder[BLOB_NAME_MAX + 1];

	if (filter->limit < 1 || filter->limit > LIST_MAX)
		return FAIL(err, ERROR_INVALID, "a page has 1 to %d blobs", LIST_MAX);
	if (size > 0) {
		if (filter->prefix[size - 1] != '/' || size > BLOB_NAME_MAX)
			return FAIL(err, ERROR_INVALID, "prefix '%.100s' does not end in '/'",
			            filter->prefix);
		memcpy(folder, filter->prefix, size - 1);
		folder[size - 1] = '\0';
		if (blob_name_check(folder, err) < 0)
			return -1;
	}
	return store->ops->list(store, a, filter, ret, err);
}

int blob_delete(struct blob_store *store, const char *name, struct error *err)
{
	return blob_name_check(name, err) < 0 ? -1 : store->ops->remove(store, name, err);
}

void blob_tidy(struct blob_store *store)
{
	store->ops->tidy(store);
}
