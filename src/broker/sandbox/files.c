/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the files of a sandbox that has ended or never ran: deletes them, or moves them to the
 * trash. */
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "broker/host/host.h"
#include "broker/layers/stacks.h"
#include "broker/layers/trash.h"
#include "broker/layers/trash_note.h"
#include "broker/sandbox/review.h"
#include "broker/sandbox/sandboxes.h"

/* The layers below files in the trash stay in use. */
static int keep_files(struct sandboxes *b, const char *id, const struct trash_note *note,
                      struct error *err)
{
	bool is_orphan = note->reason == BROKER_TRASH_ORPHAN;

	log_warning(is_orphan ? "files that no row of the store knows go to the trash"
	                      : "files of a deleted sandbox go to the trash",
	            TEXT("sandbox", id), NUMBER("keep_s", (int64_t)note->keep_s));
	if (trash_put_sandbox(b->stacks, id, note, err) < 0)
		return -1;
	review_end(b->stacks, id);
	return 0;
}

void sandbox_files_forget(struct sandboxes *b, const char *id)
{
	layer_stacks_set(b->stacks, id, NULL);
	review_end(b->stacks, id);
}

int sandbox_files_remove(struct sandboxes *b, const char *id, const struct trash_note *note,
                         struct error *err)
{
	bool had_files;

	if (note && note->keep_s > 0)
		return keep_files(b, id, note, err);
	had_files =
	        faccessat(b->host->folders[FOLDER_SANDBOXES], id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	if (host_trash_files(b->host, id, err) < 0)
		return -1;
	/* A repeated delete must keep the layers of files that are in the trash already. */
	if (!had_files && trash_has_sandbox(b->host, id))
		return 0;
	layer_stacks_set_role(b->stacks, id, LAYER_STACK_ORIGIN, NULL);
	sandbox_files_forget(b, id);
	return 0;
}
