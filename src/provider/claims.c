/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/claims.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "json/json.h"
#include "provider/entries.h"

#define CLAIM_MAX 1024

static const struct json_member claim_shape_members[] = {
        JSON_TEXT_MEMBER(provider_claim, owner),
        JSON_WHOLE_MEMBER(provider_claim, lease_epoch),
        JSON_BOOL_MEMBER(provider_claim, is_stopped, .name = "stopped"),
};
static JSON_OPEN_SHAPE(claim_shape, "Claim", provider_claim, "The last start of a sandbox");

static void claim_path(const char *dir, const char *id, char out[PATH_SIZE_MAX])
{
	(void)snprintf(out, PATH_SIZE_MAX, "%s/%s", dir, id);
}

int provider_claim_write(const char *dir, const char *id, const struct provider_claim *claim,
                         struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(CLAIM_MAX);
	struct provider_claim written = *claim;
	char path[PATH_SIZE_MAX];

	claim_path(dir, id, path);
	written.owner = claim->owner ? claim->owner : "";
	json_write(&text, &claim_shape, &written);
	buf_add_byte(&text, '\n');
	return file_write(AT_FDCWD, path, buf_span(&text), 0600, err);
}

bool provider_claim_read(const char *dir, struct provider_entry *entry)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf text = BUF(CLAIM_MAX);
	char path[PATH_SIZE_MAX];
	struct error ignored = {0};
	struct provider_claim claim;

	claim_path(dir, entry->id, path);
	if (file_read(AT_FDCWD, path, &text, &ignored) < 0 ||
	    json_parse(&arena, buf_span(&text), &claim_shape, &claim, &ignored) < 0)
		return false;
	entry->owner[0] = '\0';
	if (claim.owner && id_is_valid(claim.owner))
		memcpy(entry->owner, claim.owner, sizeof(entry->owner));
	entry->lease_epoch = claim.lease_epoch;
	return claim.is_stopped;
}

void provider_claim_remove(const char *dir, const char *id)
{
	char path[PATH_SIZE_MAX];

	claim_path(dir, id, path);
	(void)unlink(path);
}
