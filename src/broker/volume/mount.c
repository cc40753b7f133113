/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/volume/mount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

int volume_mount_parse(const char *text, struct mounted_volume *ret, struct error *err)
{
	struct span rest = span_of(text), id, mode;
	struct mounted_volume mount = {.fd = -1};
	const char *part;
	size_t size;

	if (!span_split(&rest, ':', &id) || !span_split(&rest, ':', &mode) || id.size != ID_SIZE)
		return FAIL(err, ERROR_INVALID, "'%.70s' is not VOLUME:rw:/PATH", text);
	memcpy(mount.id, id.data, ID_SIZE);
	mount.is_read_only = span_equals_text(mode, "ro");
	if (!id_is_valid(mount.id) || (!mount.is_read_only && !span_equals_text(mode, "rw")))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not VOLUME:rw:/PATH", text);
	/* Neither the path nor the folder has an empty part. */
	part = strstr(rest.data, "//");
	size = part ? (size_t)(part - rest.data) : rest.size;
	if (size >= sizeof(mount.path))
		return FAIL(err, ERROR_INVALID, "the path of a volume is too long");
	memcpy(mount.path, rest.data, size);
	if (sandbox_mount_path_check(mount.path, err) < 0 ||
	    (part && sandbox_mount_subpath_check(part + 2, err) < 0))
		return -1;
	(void)snprintf(mount.subpath, sizeof(mount.subpath), "%s", part ? part + 2 : "");
	*ret = mount;
	return 0;
}

struct mounted_volume *volume_mounts_new(const char *const *texts, unsigned *ret_count)
{
	struct mounted_volume *mounts;
	struct error err = {0};
	unsigned count = 0;

	while (texts && texts[count])
		count++;
	*ret_count = count;
	if (count == 0)
		return NULL;
	mounts = memory_array(count, sizeof(*mounts));
	for (unsigned i = 0; i < count; i++)
		if (volume_mount_parse(texts[i], &mounts[i], &err) < 0)
			abort(); /* the texts were checked */
	return mounts;
}
