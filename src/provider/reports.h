/* SPDX-License-Identifier: Apache-2.0 */
/* provider/reports.h — what a provider tells of itself and of its sandboxes without asking anyone:
 * any thread may call at any time. The rules of provider.h apply. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct provider;
struct provider_accelerator; /* provider/health.h */
struct provider_warm;        /* the same */

/* Where a sandbox is, in the words of the cluster or of the account; "" = not known. */
struct provider_place {
	char node[254];   /* of a cluster */
	char object[129]; /* name of the pod, or id of the sandbox in the account */
	char region[64];
};

/* Each may be NULL. */
struct report_ops {
	/* What runs the processors of its machines. NULL: it makes no machines. */
	void (*accelerator)(struct provider *p, struct provider_accelerator *ret);
	/* False: it keeps none. */
	bool (*warm)(struct provider *p, struct provider_warm *ret);
	/* False: it is not known. */
	bool (*place)(struct provider *p, const char *id, struct provider_place *ret);
};
