/* SPDX-License-Identifier: Apache-2.0 */
/* agent/pod.h — how the agent comes into a pod of Kubernetes, and how an exec reaches it there.
 *
 * An init container of the agent's image runs "atoll-agent --copy-to PATH": the image needs no
 * shell. The pod's own container runs PATH --tunnel. Where a port-forward does not reach the
 * loopback of the pod, as under gVisor and Kata, an exec of PATH --join PORT carries a connection
 * on its standard input and output. */
#pragma once

#include "base/error.h"

#define POD_COPY_OPTION "--copy-to"
#define POD_JOIN_OPTION "--join"

/* Writes what the file system of the folder has in memory to its disk. */
MUST_CHECK int pod_sync(const char *folder, struct error *err);

/* Both are whole programs: they return the exit status, and tell the standard error why they fail.
 */
int pod_copy(const char *path);
/* Ends when the agent, or the reader of the standard output, closes its side. */
int pod_join(const char *port);
