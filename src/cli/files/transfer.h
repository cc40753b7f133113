/* SPDX-License-Identifier: Apache-2.0 */
/* cli/files/transfer.h — files and folders between this machine and a sandbox. Private to this
 * folder. */
#pragma once

#include "cli/command.h"

/* A folder that exists at the target, or a target with a '/' at its end, takes the copy under its
 * own name; else the copy becomes the target. Folders go as tar streams, in constant memory. */
MUST_CHECK int transfer_to_sandbox(struct cli *cli, const char *local, const char *sandbox,
                                   const char *remote);
MUST_CHECK int transfer_from_sandbox(struct cli *cli, const char *sandbox, const char *remote,
                                     const char *local);
/* A file as it is, or a folder's content as a tar stream, as the body of a request. */
MUST_CHECK int transfer_send(struct cli *cli, const char *method, const char *path,
                             const char *local);
/* The body of an answer as a file, or, of a folder's tar stream, as a folder. */
MUST_CHECK int transfer_receive(struct cli *cli, const char *path, bool is_folder,
                                const char *local);
/* Where a copy called `name` goes. */
const char *transfer_place(struct arena *a, const char *target, bool target_is_folder,
                           const char *name);
