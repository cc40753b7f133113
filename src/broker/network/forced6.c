/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/network/forced6.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/network/firewall.h"
#include "broker/network/network.h"
#include "broker/network/uplink6.h"

#define NOTES "/run/atoll/uplinks6"
#define OPTION "force_forwarding"
#define OPTION_SIZE (NETWORK_LINK_SIZE + sizeof("/" OPTION))
#define COOKIE_SIZE (sizeof("18446744073709551615.") - 1)
#define NOTE_SIZE (COOKIE_SIZE + NETWORK_LINK_SIZE)
#define SET "add table inet atoll\nadd set inet atoll forced6 { type ifname; }\n"

/* "COOKIE.": what the names of notes of this network namespace begin with. Several may share
 * /run/atoll. */
static bool read_cookie(char out[COOKIE_SIZE + 1])
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) < 0)
		return false;
	(void)snprintf(out, COOKIE_SIZE + 1, "%" PRIu64 ".", cookie);
	return true;
}

static void format_option(const char *link, char out[OPTION_SIZE])
{
	(void)snprintf(out, OPTION_SIZE, "%s/" OPTION, link);
}

static bool is_forced(const char *link)
{
	char option[OPTION_SIZE];

	format_option(link, option);
	return network_option6_is(option, '1');
}

/* Its option is gone with it; one of that name that comes later does not forward. */
static bool is_gone(const char *link)
{
	char path[sizeof(NETWORK_OPTIONS6) + NETWORK_LINK_SIZE];

	(void)snprintf(path, sizeof(path), NETWORK_OPTIONS6 "%s", link);
	return access(path, F_OK) < 0 && errno == ENOENT;
}

bool network_forced6_is_lost(const struct host_network *n)
{
	char option[OPTION_SIZE];

	for (unsigned i = 0; i < n->forced6_count; i++) {
		format_option(n->forced6[i], option);
		if (network_option6_is(option, '0'))
			return true;
	}
	return false;
}

static bool is_ours(const struct host_network *n, const char *link)
{
	for (unsigned i = 0; i < n->forced6_count; i++)
		if (strcmp(link, n->forced6[i]) == 0)
			return true;
	return false;
}

void network_forced6_find(struct host_network *n)
{
	AUTO(folder_list_done) DIR *list = folder_list_at(AT_FDCWD, NOTES);
	char cookie[COOKIE_SIZE + 1];
	const struct dirent *entry;

	n->forced6_count = 0;
	if (!list || !read_cookie(cookie))
		return;
	while ((entry = readdir(list)) && n->forced6_count < NETWORK_FORCED_MAX) {
		const char *link = entry->d_name + strlen(cookie);

		if (strncmp(entry->d_name, cookie, strlen(cookie)) != 0)
			continue;
		if (is_gone(link))
			(void)unlinkat(dirfd(list), entry->d_name, 0);
		else
			(void)snprintf(n->forced6[n->forced6_count++], NETWORK_LINK_SIZE, "%s",
			               link);
	}
}

static int open_notes(int *ret_fd, struct error *err)
{
	if (mkdir(NOTES, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '" NOTES "'");
	*ret_fd = open(NOTES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder '" NOTES "'") : 0;
}

static int add_note(struct host_network *n, const char *link, struct error *err)
{
	char cookie[COOKIE_SIZE + 1], name[NOTE_SIZE + 1];
	AUTO_CLOSE int folder = -1, note = -1;

	if (is_ours(n, link))
		return 0;
	if (n->forced6_count == NETWORK_FORCED_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d default routes of IPv6",
		            NETWORK_FORCED_MAX);
	if (!read_cookie(cookie))
		return FAIL_ERRNO(err, "read the cookie of the network namespace");
	if (open_notes(&folder, err) < 0)
		return -1;
	(void)snprintf(name, sizeof(name), "%s%s", cookie, link);
	note = openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (note < 0)
		return FAIL_ERRNO(err, "make the file '" NOTES "/%s'", name);
	(void)snprintf(n->forced6[n->forced6_count++], NETWORK_LINK_SIZE, "%s", link);
	return 0;
}

static void remove_note(const char *link)
{
	char cookie[COOKIE_SIZE + 1], path[sizeof(NOTES "/") + NOTE_SIZE];

	if (!read_cookie(cookie))
		return;
	(void)snprintf(path, sizeof(path), NOTES "/%s%s", cookie, link);
	if (unlink(path) < 0 && errno != ENOENT)
		log_warning("a note of a forwarding interface stays", TEXT("file", path));
}

static int write_option(const char *link, const char *value, struct error *err)
{
	char path[sizeof(NETWORK_OPTIONS6) + OPTION_SIZE], option[OPTION_SIZE];

	format_option(link, option);
	(void)snprintf(path, sizeof(path), NETWORK_OPTIONS6 "%s", option);
	return file_poke(AT_FDCWD, path, value, err);
}

void network_forced6_rules(struct buf *out, const struct host_network *n)
{
	if (n->forced6_count == 0)
		return;
	buf_add_text(out,
	             SET "add chain inet atoll forward6 { type filter hook forward priority -1; }\n"
	                 "flush chain inet atoll forward6\n"
	                 "add rule inet atoll forward6 iifname @forced6 oifname != \"atoll*\" meta "
	                 "nfproto ipv6 drop\n");
	for (unsigned i = 0; i < n->forced6_count; i++)
		buf_addf(out, "add element inet atoll forced6 { \"%s\" }\n", n->forced6[i]);
}

static int load_guard(const struct host_network *n, struct error *err)
{
	AUTO(buf_done) struct buf script = BUF(4096);

	network_forced6_rules(&script, n);
	return script.size > 0 ? network_nft(buf_span(&script), NULL, err) : 0;
}

/* Moves behind the next interface with a default route. */
static bool next_link(struct span *routes, char out[NETWORK_LINK_SIZE])
{
	struct span name;

	if (!network_next_uplink6(routes, &name))
		return false;
	(void)snprintf(out, NETWORK_LINK_SIZE, "%.*s", (int)name.size, name.data);
	return true;
}

/* Without them the rules of IPv4 can be loaded where the guard cannot. */
static void forget_unforced(struct host_network *n)
{
	for (unsigned i = 0; i < n->forced6_count; i++)
		if (!is_forced(n->forced6[i]))
			remove_note(n->forced6[i]);
	network_forced6_find(n);
}

static int add_notes(struct host_network *n, struct span routes, struct error *err)
{
	char link[NETWORK_LINK_SIZE];

	while (next_link(&routes, link))
		if ((is_ours(n, link) || !is_forced(link)) && add_note(n, link, err) < 0)
			return -1;
	fault_point("broker", "uplink-noted");
	return 0;
}

int network_forced6_set(struct host_network *n, struct span routes, struct error *err)
{
	char link[NETWORK_LINK_SIZE];
	struct span rest;

	network_forced6_find(n);
	if (add_notes(n, routes, err) < 0 || load_guard(n, err) < 0) {
		forget_unforced(n);
		return FAIL_CONTEXT(err, "guard the interfaces that forward IPv6");
	}
	fault_point("broker", "uplink-guarded");
	for (rest = routes; next_link(&rest, link);)
		if (is_ours(n, link) && write_option(link, "1", err) < 0)
			return -1;
	fault_point("broker", "uplink-forced");
	return 0;
}

void network_forced6_release(struct host_network *n)
{
	static const char script[] = SET "flush set inet atoll forced6\n";
	struct error ignored = {0};

	network_forced6_find(n);
	for (unsigned i = 0; i < n->forced6_count; i++) {
		if (write_option(n->forced6[i], "0", &ignored) < 0 && ignored.sys_errno != ENOENT) {
			log_warning("an interface goes on to forward IPv6", FAILURE(&ignored));
			return;
		}
		error_clear(&ignored);
		fault_point("broker", "uplink-released");
	}
	if (n->forced6_count > 0 && network_nft(SPAN(script), NULL, &ignored) < 0)
		log_warning("the rule of interfaces that forward IPv6 stays", FAILURE(&ignored));
	for (unsigned i = 0; i < n->forced6_count; i++)
		remove_note(n->forced6[i]);
	n->forced6_count = 0;
}

void network_forced6_secure(struct host_network *n)
{
	struct error err = {0};

	network_forced6_find(n);
	if (load_guard(n, &err) < 0)
		network_forced6_release(n);
}
