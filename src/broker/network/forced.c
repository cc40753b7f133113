/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/network/forced.h"

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
#include "broker/network/uplink4.h"
#include "broker/network/uplink6.h"

#define ROUTES_MAX ((size_t)4 << 20)
#define PATH_SIZE 96
#define COOKIE_SIZE (sizeof("18446744073709551615.") - 1)
#define NOTE_SIZE (COOKIE_SIZE + NETWORK_LINK_SIZE)

static const struct family {
	const char *name;    /* for the log */
	const char *nfproto; /* as nft says it */
	unsigned digit;      /* of the names of its set and chain */
	const char *notes;
	const char *options; /* a folder for each interface is in it */
	const char *option;
	const char *router; /* the option that makes a router of the host */
	const char *routes;
	bool (*next_uplink)(struct span *rest, struct span *ret_name);
	/* A router has no other option for single interfaces, and so keeps it. */
	bool is_routers_option;
} families[NETWORK_FAMILIES] = {
        [NETWORK_IPV4] = {"IPv4", "ipv4", 4, "/run/atoll/uplinks4", "/proc/sys/net/ipv4/conf",
                          "forwarding", "/proc/sys/net/ipv4/ip_forward", "/proc/net/route",
                          network_next_uplink4, true},
        [NETWORK_IPV6] = {"IPv6", "ipv6", 6, "/run/atoll/uplinks6", "/proc/sys/net/ipv6/conf",
                          "force_forwarding", "/proc/sys/net/ipv6/conf/all/forwarding",
                          "/proc/net/ipv6_route", network_next_uplink6, false},
};

static bool has_value(const char *path, char value)
{
	AUTO(buf_done) struct buf text = BUF(16);
	struct error ignored = {0};

	return file_read(AT_FDCWD, path, &text, &ignored) == 0 && text.size > 0 &&
	       text.data[0] == value;
}

bool network_is_router(enum network_family family)
{
	return has_value(families[family].router, '1');
}

int network_read_routes(enum network_family family, struct buf *out, struct error *err)
{
	return file_read(AT_FDCWD, families[family].routes, out, err);
}

static void add_declarations(struct buf *out, const struct family *family)
{
	buf_addf(out, "add table inet atoll\nadd set inet atoll forced%u { type ifname; }\n",
	         family->digit);
}

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

static void format_option(const struct family *family, const char *link, char out[PATH_SIZE])
{
	(void)snprintf(out, PATH_SIZE, "%s/%s/%s", family->options, link, family->option);
}

static bool does_forward(const struct family *family, const char *link)
{
	char path[PATH_SIZE];

	format_option(family, link, path);
	return has_value(path, '1');
}

/* Its option is gone with it; one of that name that comes later does not forward. */
static bool is_gone(const struct family *family, const char *link)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/%s", family->options, link);
	return access(path, F_OK) < 0 && errno == ENOENT;
}

bool network_forced_is_lost(const struct host_network *n, enum network_family family)
{
	const struct network_forced *forced = &n->forced[family];
	char path[PATH_SIZE];

	for (unsigned i = 0; i < forced->count; i++) {
		format_option(&families[family], forced->links[i], path);
		if (has_value(path, '0'))
			return true;
	}
	return forced->count > 0 && network_is_router(family);
}

static bool is_ours(const struct network_forced *forced, const char *link)
{
	for (unsigned i = 0; i < forced->count; i++)
		if (strcmp(link, forced->links[i]) == 0)
			return true;
	return false;
}

void network_forced_find(struct host_network *n, enum network_family family)
{
	AUTO(folder_list_done) DIR *list = folder_list_at(AT_FDCWD, families[family].notes);
	struct network_forced *forced = &n->forced[family];
	char cookie[COOKIE_SIZE + 1];
	const struct dirent *entry;

	forced->count = 0;
	if (!list || !read_cookie(cookie))
		return;
	while ((entry = readdir(list)) && forced->count < NETWORK_FORCED_MAX) {
		const char *link = entry->d_name + strlen(cookie);

		if (strncmp(entry->d_name, cookie, strlen(cookie)) != 0)
			continue;
		if (is_gone(&families[family], link))
			(void)unlinkat(dirfd(list), entry->d_name, 0);
		else
			(void)snprintf(forced->links[forced->count++], NETWORK_LINK_SIZE, "%s",
			               link);
	}
}

static int open_notes(const char *path, int *ret_fd, struct error *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '%s'", path);
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder '%s'", path) : 0;
}

static int add_note(struct network_forced *forced, const struct family *family, const char *link,
                    struct error *err)
{
	char cookie[COOKIE_SIZE + 1], name[NOTE_SIZE + 1];
	AUTO_CLOSE int folder = -1, note = -1;

	if (is_ours(forced, link))
		return 0;
	if (forced->count == NETWORK_FORCED_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d default routes of %s",
		            NETWORK_FORCED_MAX, family->name);
	if (!read_cookie(cookie))
		return FAIL_ERRNO(err, "read the cookie of the network namespace");
	if (open_notes(family->notes, &folder, err) < 0)
		return -1;
	(void)snprintf(name, sizeof(name), "%s%s", cookie, link);
	note = openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (note < 0)
		return FAIL_ERRNO(err, "make the file '%s/%s'", family->notes, name);
	(void)snprintf(forced->links[forced->count++], NETWORK_LINK_SIZE, "%s", link);
	return 0;
}

static void remove_note(const struct family *family, const char *link)
{
	char cookie[COOKIE_SIZE + 1], path[PATH_SIZE];

	if (!read_cookie(cookie))
		return;
	(void)snprintf(path, sizeof(path), "%s/%s%s", family->notes, cookie, link);
	if (unlink(path) < 0 && errno != ENOENT)
		log_warning("a note of a forwarding interface stays", TEXT("file", path));
}

static int write_option(const struct family *family, const char *link, const char *value,
                        struct error *err)
{
	char path[PATH_SIZE];

	format_option(family, link, path);
	return file_poke(AT_FDCWD, path, value, err);
}

static void add_rules(struct buf *out, const struct network_forced *forced,
                      const struct family *family)
{
	const unsigned digit = family->digit;

	if (forced->count == 0)
		return;
	add_declarations(out, family);
	buf_addf(out,
	         "add chain inet atoll forward%u { type filter hook forward priority -1; }\n"
	         "flush chain inet atoll forward%u\n"
	         "add rule inet atoll forward%u iifname @forced%u oifname != \"atoll*\" meta "
	         "nfproto %s drop\n",
	         digit, digit, digit, digit, family->nfproto);
	for (unsigned i = 0; i < forced->count; i++)
		buf_addf(out, "add element inet atoll forced%u { \"%s\" }\n", digit,
		         forced->links[i]);
}

void network_forced_rules(struct buf *out, const struct host_network *n)
{
	for (unsigned i = 0; i < NETWORK_FAMILIES; i++)
		add_rules(out, &n->forced[i], &families[i]);
}

static int load_guard(const struct host_network *n, enum network_family family, struct error *err)
{
	AUTO(buf_done) struct buf script = BUF(4096);

	add_rules(&script, &n->forced[family], &families[family]);
	return script.size > 0 ? network_nft(buf_span(&script), NULL, err) : 0;
}

/* Moves behind the next interface with a default route. */
static bool next_link(const struct family *family, struct span *routes, char out[NETWORK_LINK_SIZE])
{
	struct span name;

	if (!family->next_uplink(routes, &name))
		return false;
	(void)snprintf(out, NETWORK_LINK_SIZE, "%.*s", (int)name.size, name.data);
	return true;
}

bool network_uplinks_forward(enum network_family family, struct span routes)
{
	char link[NETWORK_LINK_SIZE];

	while (next_link(&families[family], &routes, link))
		if (!does_forward(&families[family], link))
			return false;
	return true;
}

/* Without them the other rules can be loaded where the guard cannot. */
static void forget_unforced(struct host_network *n, enum network_family family)
{
	const struct network_forced *forced = &n->forced[family];

	for (unsigned i = 0; i < forced->count; i++)
		if (!does_forward(&families[family], forced->links[i]))
			remove_note(&families[family], forced->links[i]);
	network_forced_find(n, family);
}

static int add_notes(struct network_forced *forced, const struct family *family, struct span routes,
                     struct error *err)
{
	char link[NETWORK_LINK_SIZE];

	while (next_link(family, &routes, link))
		if (!does_forward(family, link) && add_note(forced, family, link, err) < 0)
			return -1;
	fault_point("broker", "uplink-noted");
	return 0;
}

int network_forced_set(struct host_network *n, enum network_family family, struct span routes,
                       struct error *err)
{
	const struct family *f = &families[family];
	struct network_forced *forced = &n->forced[family];
	char link[NETWORK_LINK_SIZE];
	struct span rest;

	network_forced_find(n, family);
	if (add_notes(forced, f, routes, err) < 0 || load_guard(n, family, err) < 0) {
		forget_unforced(n, family);
		return FAIL_CONTEXT(err, "guard the interfaces that forward %s", f->name);
	}
	fault_point("broker", "uplink-guarded");
	for (rest = routes; next_link(f, &rest, link);)
		if (is_ours(forced, link) && write_option(f, link, "1", err) < 0)
			return -1;
	fault_point("broker", "uplink-forced");
	return 0;
}

/* A host that becomes a router meanwhile may have its option written over, and gets it back. */
static int end_forwarding(const struct family *family, const char *link, struct error *err)
{
	if (family->is_routers_option && has_value(family->router, '1'))
		return 0;
	if (write_option(family, link, "0", err) < 0)
		return -1;
	return family->is_routers_option && has_value(family->router, '1')
	               ? write_option(family, link, "1", err)
	               : 0;
}

static int empty_guard(const struct family *family, struct error *err)
{
	AUTO(buf_done) struct buf script = BUF(256);

	add_declarations(&script, family);
	buf_addf(&script, "flush set inet atoll forced%u\n", family->digit);
	return network_nft(buf_span(&script), NULL, err);
}

void network_forced_release(struct host_network *n, enum network_family family)
{
	const struct family *f = &families[family];
	struct network_forced *forced = &n->forced[family];
	struct error ignored = {0};

	network_forced_find(n, family);
	for (unsigned i = 0; i < forced->count; i++) {
		if (end_forwarding(f, forced->links[i], &ignored) < 0 &&
		    ignored.sys_errno != ENOENT) {
			log_warning("an interface goes on to forward", TEXT("family", f->name),
			            FAILURE(&ignored));
			return;
		}
		error_clear(&ignored);
		fault_point("broker", "uplink-released");
	}
	if (forced->count > 0 && empty_guard(f, &ignored) < 0)
		log_warning("the rule of interfaces that forward stays", TEXT("family", f->name),
		            FAILURE(&ignored));
	for (unsigned i = 0; i < forced->count; i++)
		remove_note(f, forced->links[i]);
	forced->count = 0;
}

bool network_forced_follow(struct host_network *n, enum network_family family, bool is_used)
{
	AUTO(buf_done) struct buf routes = BUF(ROUTES_MAX);
	const char *name = families[family].name;
	struct error err = {0};

	if (network_is_router(family)) {
		network_forced_release(n, family);
		return false;
	}
	if (!is_used || (network_read_routes(family, &routes, &err) == 0 &&
	                 network_uplinks_forward(family, buf_span(&routes))))
		return false;
	if (err.code != ERROR_NONE || network_forced_set(n, family, buf_span(&routes), &err) < 0) {
		log_warning("answers may not reach sandboxes", TEXT("family", name), FAILURE(&err));
		return false;
	}
	log_info("the host's forwarding for sandboxes is set again", TEXT("family", name));
	return true;
}

void network_forced_secure(struct host_network *n)
{
	struct error err = {0};

	for (unsigned i = 0; i < NETWORK_FAMILIES; i++) {
		network_forced_find(n, i);
		if (load_guard(n, i, &err) < 0)
			network_forced_release(n, i);
		error_clear(&err);
	}
}
