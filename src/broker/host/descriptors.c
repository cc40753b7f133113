/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"

#define WANTED 65536    /* for ten thousand sandboxes */
#define PER_SANDBOX 6   /* that one keeps at most */
#define USED 100        /* by the broker itself and its prewarmed sandboxes */
#define FOR_ONE 40      /* that the making of one has open at once */
#define FOR_OTHERS 64   /* left to creates when prewarmed sandboxes and pools are filled */
#define PLENTY 4096     /* below that the start says so */
#define LIST_LIMIT 4096 /* an older kernel, which cannot count them, is asked only below that */

static int list_fd = -1;
static unsigned limit_of_files;

void descriptors_open(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	if (limit.rlim_max < WANTED) {
		struct rlimit more = {WANTED, WANTED};

		/* Needs CAP_SYS_RESOURCE, which a container may lack. */
		if (setrlimit(RLIMIT_NOFILE, &more) == 0)
			limit = more;
	}
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	limit_of_files = limit.rlim_cur > WANTED ? WANTED : (unsigned)limit.rlim_cur;
	list_fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (limit_of_files < PLENTY)
		log_warning(
		        "the limit of open files is low", NUMBER("limit", limit_of_files),
		        NUMBER("wanted", WANTED),
		        NUMBER("sandboxes_at_most",
		               limit_of_files > USED ? (limit_of_files - USED) / PER_SANDBOX : 0),
		        TEXT("hint", "LimitNOFILE=65536 in the unit, or ulimit -n 65536"));
}

static unsigned count_entries(void)
{
	AUTO(folder_list_done) DIR *folder = folder_list(list_fd);
	unsigned count = 0;

	if (!folder)
		return limit_of_files;
	while (readdir(folder))
		count++;
	return count;
}

/* Linux 6.2 reports the count as the size of the folder. */
static unsigned count_open(void)
{
	struct stat status;

	if (fstat(list_fd, &status) == 0 && status.st_size > 0)
		return (unsigned)status.st_size;
	return limit_of_files < LIST_LIMIT ? count_entries() : 0;
}

static int check_free_descriptors(unsigned wanted, struct error *err)
{
	unsigned open_count;

	if (list_fd < 0)
		return 0;
	open_count = count_open();
	if (open_count + wanted <= limit_of_files)
		return 0;
	error_set(err, ERROR_UNAVAILABLE, EMFILE, HERE,
	          "the broker has %u of at most %u files open: another sandbox needs up to %d more",
	          open_count, limit_of_files, FOR_ONE);
	return FAIL_HINT(
	        err, "raise the limit of open files: LimitNOFILE=65536 in the unit, or ulimit -n "
	             "65536");
}

int descriptors_check(struct error *err)
{
	return check_free_descriptors(FOR_ONE, err);
}

bool descriptors_are_plenty(void)
{
	struct error ignored = {0};

	return check_free_descriptors(FOR_ONE + FOR_OTHERS, &ignored) == 0;
}
