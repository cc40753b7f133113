/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/prewarm/prewarm.h"

#include <assert.h>
#include <stdlib.h>

#include "base/fd.h"

/* The number of a descriptor tells how many are open. Each sandbox needs three others. */
#define STORED_KEPT_BELOW 4096

void prewarm_free(struct prewarm *prewarm)
{
	if (!prewarm)
		return;
	fd_forget(&prewarm->pidfd);
	fd_forget(&prewarm->setup_fd);
	fd_forget(&prewarm->setup_far_fd);
	fd_forget(&prewarm->ids_fd);
	fd_forget(&prewarm->stored_fd);
	fd_forget(&prewarm->mounts_fd);
	fd_forget(&prewarm->net_fd);
	root_mounts_close(&prewarm->root);
	free(prewarm);
}

int prewarm_take_stored(struct prewarm *prewarm)
{
	return prewarm->stored_fd < STORED_KEPT_BELOW ? TAKE_FD(prewarm->stored_fd) : -1;
}
