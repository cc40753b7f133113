/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fault_point(const char *place, const char *step)
{
	const char *wanted = getenv("ATOLL_FAULT");
	char here[96];

	if (!wanted)
		return;
	(void)snprintf(here, sizeof(here), "%s:%s:kill", place, step);
	if (strcmp(wanted, here) == 0)
		(void)raise(SIGKILL);
}
