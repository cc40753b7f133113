/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that sandboxes may open, in cgroup v1. */
#include <fcntl.h>
#include <string.h>

#include "base/bytes.h"
#include "launch/server.h"

#define GROUP "/sys/fs/cgroup/devices/atoll"

/* null zero full random urandom tty ptmx pts kvm. No other device may be opened, even if a mount
 * has its node. Only shells of virtual machines have a node of kvm (LAYER_KVM). */
static const char *const devices[] = {"c 1:3 rw", "c 1:5 rw",   "c 1:7 rw",
                                      "c 1:8 rw", "c 1:9 rw",   "c 5:0 rw",
                                      "c 5:2 rw", "c 136:* rw", "c 10:232 rw"};

static bool devices_are_limited(int root)
{
	AUTO(buf_done) struct buf text = BUF(16384);
	struct error ignored = {0};

	if (file_read(root, "devices.list", &text, &ignored) < 0)
		return false;
	for (unsigned i = 0; i < COUNT_OF(devices); i++)
		if (!strstr(buf_text(&text), devices[i]))
			return false;
	return true;
}

/* All sandboxes share one group, because the rules are the same. It is set once, because setting it
 * forbids all devices for a moment. */
static int limit_devices(int root, struct error *err)
{
	if (devices_are_limited(root))
		return 0;
	if (file_poke(root, "devices.deny", "a", err) < 0)
		return -1;
	for (unsigned i = 0; i < COUNT_OF(devices); i++)
		if (file_poke(root, "devices.allow", devices[i], err) < 0)
			return -1;
	return 0;
}

int serve_devices(UNUSED struct launch_server *l, UNUSED const struct launch_call *call,
                  UNUSED struct launch_reply *ret, struct error *err)
{
	AUTO_CLOSE int group = open(GROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return group < 0 ? FAIL_ERRNO(err, "open the cgroup '%s'", GROUP)
	                 : limit_devices(group, err);
}
