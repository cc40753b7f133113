/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a sandbox may reach: from its cell or claim on, and changed while it runs. */
#include "broker/box_egress.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

int box_filter(struct box *box, struct error *err)
{
	if (!box->egress)
		return 0;
	if (fault_failure("broker", "egress", err) < 0 ||
	    network_egress_set(&box->boxes->host->network, box->slot, box->egress, err) < 0)
		return -1;
	fault_point("broker", "egress");
	box_step(box, "egress");
	return 0;
}

int boxes_filter(struct boxes *b, const char *id, const char *egress, struct error *err)
{
	struct box *box = boxes_find(b, id);

	if (!box || box->slot == SLOT_NONE)
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' does not run", id);
	if (box->kind != BROKER_NATIVE)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "a sandbox without isolation has no network of its own");
	if (box->state != BOX_RUNNING)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is being started or ended", id);
	/* Without a link there is nothing to reach. */
	if (!box->internet)
		return 0;
	if (network_egress_set(&b->host->network, box->slot, egress, err) < 0)
		return -1;
	/* To be set again when the host's rules are emptied. */
	free(box->egress);
	box->egress = egress && *egress ? strdup(egress) : NULL;
	fault_point("broker", "egress-changed");
	return 0;
}
