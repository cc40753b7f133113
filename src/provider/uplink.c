/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/uplink.h"

#include <fcntl.h>

#include "base/bytes.h"
#include "base/fd.h"

#define ROUTES "/proc/net/route"

static bool has_default(struct span routes)
{
	struct span line, name, destination;

	while (routes.size > 0) {
		(void)span_split(&routes, '\n', &line);
		(void)span_split(&line, '\t', &name);
		(void)span_split(&line, '\t', &destination);
		if (span_equals_text(destination, "00000000"))
			return true;
	}
	return false;
}

int uplink_check(struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(64 * 1024);

	if (file_read(AT_FDCWD, ROUTES, &text, err) < 0)
		return -1;
	if (has_default(buf_span(&text)))
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE,
	           "this host has no default route: sandboxes with internet can be made, and reach "
	           "nothing outside of it");
	return FAIL_HINT(err, "nothing needs to be done on a host without internet; else give it a "
	                      "default route: sandboxes use it without a restart");
}
