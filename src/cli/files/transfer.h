/* SPDX-License-Identifier: Apache-2.0 */
/* cli/files/transfer.h — copies files and folders between this machine and a sandbox. */
#pragma once

#include "cli/core/command.h"

/* If the target is an existing folder or ends in '/', it receives the copy under the copy's own
 * name; otherwise the copy becomes the target. Folders are sent as tar streams in constant
 * memory. */
MUST_CHECK int transfer_to_sandbox(struct cli *cli, const char *local, const char *sandbox,
                                   const char *remote);
MUST_CHECK int transfer_from_sandbox(struct cli *cli, const char *sandbox, const char *remote,
                                     const char *local);
/* Sends a file unchanged, or a folder's contents as a tar stream, as the body of a request. */
MUST_CHECK int transfer_send(struct cli *cli, const char *method, const char *path,
                             const char *local);
/* Receives the body of an answer as a file, or unpacks it as a folder's tar stream. */
MUST_CHECK int transfer_receive(struct cli *cli, const char *path, bool is_folder,
                                const char *local);
/* The path of a copy called `name`. */
const char *transfer_place(struct arena *a, const char *target, bool target_is_folder,
                           const char *name);
