/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/identity.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int identity_find(const char *wanted, struct identity *ret, struct error *err)
{
	const struct passwd *user = getpwnam(wanted[0] ? wanted : "atoll");

	if (!user && !wanted[0])
		user = getpwnam("nobody");
	if (!user)
		return FAIL(err, ERROR_NOT_FOUND, "there is no user '%s'",
		            wanted[0] ? wanted : "nobody");
	if (user->pw_uid == 0) {
		(void)FAIL(err, ERROR_INVALID, "the api process does not run as root");
		return FAIL_HINT(err, "name an unprivileged user with --user");
	}
	ret->uid = user->pw_uid;
	ret->gid = user->pw_gid;
	ret->docker_count = 0;
	(void)snprintf(ret->name, sizeof(ret->name), "%s", user->pw_name);
	return 0;
}

static int drop_bounding_set(struct error *err)
{
	/* EINVAL after the last capability that this kernel knows ends the loop. */
	for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0;
	     capability++) {
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
			return FAIL_ERRNO(err, "drop capability %lu", capability);
	}
	return 0;
}

int identity_become(const struct identity *identity, struct error *err)
{
	if (drop_bounding_set(err) < 0)
		return -1;
	if (setgroups(identity->docker_count, identity->docker) < 0 ||
	    setresgid(identity->gid, identity->gid, identity->gid) < 0 ||
	    setresuid(identity->uid, identity->uid, identity->uid) < 0)
		return FAIL_ERRNO(err, "become user '%s'", identity->name);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "forbid new privileges");
	if (setuid(0) == 0)
		return FAIL(err, ERROR_SYSTEM, "user '%s' can become root again", identity->name);
	return 0;
}
