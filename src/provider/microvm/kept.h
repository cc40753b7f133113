/* SPDX-License-Identifier: Apache-2.0 */
/* provider/microvm/kept.h — notes about memory that machines have on disk: DATA/microvm/kept/ID.
 * Private to this folder.
 *
 * The memory itself is in the sandbox's files, in the folder MICROVM_KEPT/NAME. A note says what is
 * true after any process has died:
 *
 *   saving   the processors may be stopped: they must continue, and the folder goes
 *   ready    the machine has not run since: the memory is valid, and a QEMU that still has the
 *            machine must end
 *
 * A note that is ready changes to `saving` just before the processors run again, so that old memory
 * never meets newer files. Any thread may call; the caller is the only one that works on that
 * sandbox. */
#pragma once

#include <stdbool.h>

#include "base/id.h"
#include "provider/microvm/microvm.h"

struct microvm_kept {
	bool is_ready;
	char name[ID_SIZE + 1]; /* of the folder */
};

/* On disk when it returns. */
MUST_CHECK int kept_note(const struct microvm_provider *m, const char *id,
                         const struct microvm_kept *kept, struct error *err);
/* False: there is no note, or it is malformed. */
bool kept_find(const struct microvm_provider *m, const char *id, struct microvm_kept *ret);
/* On disk when it returns. Succeeds without a note. */
MUST_CHECK int kept_forget(const struct microvm_provider *m, const char *id, struct error *err);
/* Once, when the provider opens: settles what a server that died has left. Sandboxes of a provider
 * that is open in this process are left alone. */
MUST_CHECK int kept_recover(struct microvm_provider *m, struct error *err);
void kept_close(struct microvm_provider *m);
