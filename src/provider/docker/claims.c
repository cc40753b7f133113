/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/docker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "json/json.h"

#define CLAIM_MAX 1024

struct docker_claim {
	const char *owner;
	int64_t lease_epoch;
};

static const struct json_member claim_shape_members[] = {
        JSON_TEXT_MEMBER(docker_claim, owner),
        JSON_WHOLE_MEMBER(docker_claim, lease_epoch),
};
static JSON_OPEN_SHAPE(claim_shape, "Claim", docker_claim, "The last start of a sandbox");

static void claim_path(struct provider *p, const char *id, char out[PATH_SIZE_MAX])
{
	(void)snprintf(out, PATH_SIZE_MAX, "%s/claims/%s", as_docker(p)->dir, id);
}

int docker_claim_write(struct provider *p, const struct sandbox_spec *spec, struct error *err)
{
	const struct docker_claim claim = {spec->owner ? spec->owner : "", spec->lease_epoch};
	AUTO(buf_done) struct buf text = BUF(CLAIM_MAX);
	char path[PATH_SIZE_MAX];

	claim_path(p, spec->id, path);
	json_write(&text, &claim_shape, &claim);
	buf_add_byte(&text, '\n');
	return file_write(AT_FDCWD, path, buf_span(&text), 0600, err);
}

void docker_claim_read(struct provider *p, struct provider_entry *entry)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf text = BUF(CLAIM_MAX);
	char path[PATH_SIZE_MAX];
	struct error ignored = {0};
	struct docker_claim claim;

	claim_path(p, entry->id, path);
	if (file_read(AT_FDCWD, path, &text, &ignored) < 0 ||
	    json_parse(&arena, buf_span(&text), &claim_shape, &claim, &ignored) < 0)
		return;
	entry->owner[0] = '\0';
	if (claim.owner && id_is_valid(claim.owner))
		memcpy(entry->owner, claim.owner, sizeof(entry->owner));
	entry->lease_epoch = claim.lease_epoch;
}

void docker_claim_remove(struct provider *p, const char *id)
{
	char path[PATH_SIZE_MAX];

	claim_path(p, id, path);
	(void)unlink(path);
}
