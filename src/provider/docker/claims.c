/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/docker.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/path.h"

static void claim_path(struct provider *p, const char *id, char out[PATH_SIZE_MAX])
{
	(void)snprintf(out, PATH_SIZE_MAX, "%s/claims/%s", as_docker(p)->dir, id);
}

int docker_claim_write(struct provider *p, const struct sandbox_spec *spec, struct error *err)
{
	char path[PATH_SIZE_MAX], line[ID_SIZE + 32];

	claim_path(p, spec->id, path);
	(void)snprintf(line, sizeof(line), "%.*s %lld\n", ID_SIZE, spec->owner ? spec->owner : "",
	               (long long)spec->lease_epoch);
	return file_write(AT_FDCWD, path, span_of(line), 0600, err);
}

void docker_claim_read(struct provider *p, struct provider_entry *entry)
{
	char path[PATH_SIZE_MAX];
	AUTO(buf_done) struct buf text = BUF(256);
	struct error ignored = {0};
	struct span rest, owner, epoch;

	claim_path(p, entry->id, path);
	if (file_read(AT_FDCWD, path, &text, &ignored) < 0)
		return;
	rest = buf_span(&text);
	(void)span_split(&rest, ' ', &owner);
	(void)span_split(&rest, '\n', &epoch);
	(void)snprintf(entry->owner, sizeof(entry->owner), "%.*s", (int)owner.size, owner.data);
	entry->lease_epoch = 0;
	(void)!span_parse_whole(epoch, 0, INT64_MAX, &entry->lease_epoch, &ignored);
}

void docker_claim_remove(struct provider *p, const char *id)
{
	char path[PATH_SIZE_MAX];

	claim_path(p, id, path);
	(void)unlink(path);
}
