/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/remote/parts.h"
#include "sandbox/egress.h"

/* Connections of such a sandbox do not pass this server: nothing here can ask a person about one,
 * or record it. */
int remote_rules_check(const struct remote *r, const char *egress, struct error *err)
{
	enum egress_mode mode = sandbox_egress_mode(egress);

	if (mode == EGRESS_ENFORCE)
		return 0;
	return FAIL(err, ERROR_UNSUPPORTED,
	            "provider '%s' cannot do this: network rules in the mode '%s'", r->name,
	            egress_modes[mode]);
}
