/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/user.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

#define FILE_MAX (1024 * 1024)
#define NAMES_MAX 257     /* the longest name of a message, and the NUL */
#define ID_MAX 4294967294 /* 2^32 - 1 means "unchanged" to the kernel */
#define ONLY_USER "user"
#define ONLY_HOME "/home/" ONLY_USER

static void copy_text(char *out, size_t size, struct span text)
{
	(void)snprintf(out, size, "%.*s", (int)text.size, text.data);
}

static bool parse_id(struct span text, uint32_t *ret)
{
	struct error ignored;
	int64_t number;

	if (span_parse_whole(text, 0, ID_MAX, &number, &ignored) < 0)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* name:password:uid:gid:comment:home:shell */
struct passwd_line {
	struct span name, home, shell;
	uint32_t uid, gid;
};

static bool parse_passwd_line(struct span line, struct passwd_line *ret)
{
	struct span fields[7];

	for (size_t i = 0; i < COUNT_OF(fields); i++)
		if (!span_split(&line, ':', &fields[i]) && i + 1 < COUNT_OF(fields))
			return false;
	ret->name = fields[0];
	ret->home = fields[5];
	ret->shell = fields[6];
	return parse_id(fields[2], &ret->uid) && parse_id(fields[3], &ret->gid);
}

static bool find_passwd(struct span passwd, const char *name, struct passwd_line *ret)
{
	uint32_t number;
	bool is_number = parse_id(span_of(name), &number);
	struct span line;

	while (passwd.size) {
		(void)span_split(&passwd, '\n', &line);
		if (!parse_passwd_line(line, ret))
			continue;
		if (is_number ? ret->uid == number : span_equals_text(ret->name, name))
			return true;
	}
	return false;
}

static bool lists_member(struct span members, const char *name)
{
	struct span member;

	while (members.size) {
		(void)span_split(&members, ',', &member);
		if (span_equals_text(member, name))
			return true;
	}
	return false;
}

/* name:password:gid:member,member */
static void add_groups(struct span group, struct user *user)
{
	struct span line, ignored, number;
	uint32_t gid;

	while (group.size && user->group_count < USER_GROUPS_MAX) {
		(void)span_split(&group, '\n', &line);
		if (!span_split(&line, ':', &ignored) || !span_split(&line, ':', &ignored) ||
		    !span_split(&line, ':', &number) || !parse_id(number, &gid))
			continue;
		if (gid != user->gid && lists_member(line, user->name))
			user->groups[user->group_count++] = gid;
	}
}

static int set_nameless(const char *name, struct user *ret, struct error *err)
{
	uint32_t number;

	if (!parse_id(span_of(name), &number))
		return FAIL(err, ERROR_NOT_FOUND, "no user '%s' in the sandbox", name);
	ret->uid = ret->gid = number;
	copy_text(ret->name, sizeof(ret->name), span_of(name));
	copy_text(ret->home, sizeof(ret->home), SPAN("/"));
	copy_text(ret->shell, sizeof(ret->shell), SPAN("/bin/sh"));
	return 0;
}

/* The first name of "a|b" that the table has; else the last. */
static void choose_name(struct span passwd, const char *names, char out[NAMES_MAX])
{
	struct span rest = span_of(names), name;
	struct passwd_line ignored;
	bool more = true;

	while (more) {
		more = span_split(&rest, '|', &name);
		copy_text(out, NAMES_MAX, name);
		if (find_passwd(passwd, out, &ignored))
			return;
	}
}

static int parse_user(struct span passwd, struct span group, const char *name, struct user *ret,
                      struct error *err)
{
	struct passwd_line line;
	struct user user = {.group_count = 1};

	if (find_passwd(passwd, name, &line)) {
		user.uid = line.uid;
		user.gid = line.gid;
		copy_text(user.name, sizeof(user.name), line.name);
		copy_text(user.home, sizeof(user.home), line.home.size ? line.home : SPAN("/"));
		copy_text(user.shell, sizeof(user.shell),
		          line.shell.size ? line.shell : SPAN("/bin/sh"));
	} else if (set_nameless(name, &user, err) < 0) {
		return -1;
	}
	user.groups[0] = user.gid;
	add_groups(group, &user);
	*ret = user;
	return 0;
}

/* Finds a group by name or number. */
static int find_group(struct span group, struct span wanted, gid_t *ret, struct error *err)
{
	struct span line, name, ignored, number;

	if (parse_id(wanted, ret))
		return 0;
	while (group.size) {
		(void)span_split(&group, '\n', &line);
		if (span_split(&line, ':', &name) && span_split(&line, ':', &ignored) &&
		    span_split(&line, ':', &number) && span_equals(name, wanted) &&
		    parse_id(number, ret))
			return 0;
	}
	return FAIL(err, ERROR_NOT_FOUND, "no group '%.*s' in the sandbox",
	            wanted.size < 64 ? (int)wanted.size : 64, wanted.data ? wanted.data : "");
}

int user_parse(struct span passwd, struct span group, const char *name, struct user *ret,
               struct error *err)
{
	struct span wanted = span_of(name), users;
	char names[NAMES_MAX], chosen[NAMES_MAX];
	bool has_group = span_split(&wanted, ':', &users);
	struct user user;
	gid_t gid;

	copy_text(names, sizeof(names), users);
	choose_name(passwd, names, chosen);
	if (parse_user(passwd, group, chosen, &user, err) < 0)
		return -1;
	if (has_group) {
		if (find_group(group, wanted, &gid, err) < 0)
			return -1;
		user.gid = user.groups[0] = gid;
		user.group_count = 1;
	}
	*ret = user;
	return 0;
}

/* A missing or unfit file reads as empty. */
static void read_table(const char *path, struct buf *out)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct error ignored;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return;
	if (fd_read_to_end(fd, out, &ignored) < 0)
		buf_reset(out);
}

void user_names_read(struct user_names *n)
{
	*n = (struct user_names){BUF(FILE_MAX), BUF(FILE_MAX)};
	read_table("/etc/passwd", &n->passwd);
	read_table("/etc/group", &n->group);
}

void user_names_done(struct user_names *n)
{
	buf_done(&n->passwd);
	buf_done(&n->group);
}

void user_name_of(const struct user_names *n, uid_t uid, char out[64])
{
	struct passwd_line line;

	(void)snprintf(out, 64, "%u", uid);
	if (find_passwd(buf_span(&n->passwd), out, &line) && line.name.size > 0)
		copy_text(out, 64, line.name);
}

void user_group_of(const struct user_names *n, gid_t gid, char out[64])
{
	struct span rest = buf_span(&n->group), line, name, ignored, number;
	uint32_t found;

	(void)snprintf(out, 64, "%u", gid);
	while (rest.size) {
		(void)span_split(&rest, '\n', &line);
		if (!span_split(&line, ':', &name) || !span_split(&line, ':', &ignored))
			continue;
		(void)span_split(&line, ':', &number);
		if (name.size == 0 || !parse_id(number, &found) || found != gid)
			continue;
		copy_text(out, 64, name);
		return;
	}
}

/* Names that mean the only user of a sandbox whose agent is not root. */
static bool means_only_user(const char *name, const struct user *only)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", only->uid);
	return !*name || strcmp(name, ONLY_USER) == 0 || strcmp(name, only->name) == 0 ||
	       strcmp(name, number) == 0;
}

/* The agent's own. The home is a folder that its provider has mounted, or that of the image. */
static int find_only_user(struct span passwd, const char *name, struct user *ret, struct error *err)
{
	struct span rest = span_of(name), wanted;
	struct user user;
	char number[16], one[NAMES_MAX];
	bool more = true;

	(void)snprintf(number, sizeof(number), "%u", geteuid());
	if (parse_user(passwd, (struct span){NULL, 0}, number, &user, err) < 0)
		return -1;
	if (strcmp(user.name, number) == 0)
		copy_text(user.name, sizeof(user.name), SPAN(ONLY_USER));
	if (access(ONLY_HOME, W_OK | X_OK) == 0)
		copy_text(user.home, sizeof(user.home), SPAN(ONLY_HOME));
	user.gid = user.groups[0] = getegid();
	while (more) {
		more = span_split(&rest, '|', &wanted);
		copy_text(one, sizeof(one), wanted);
		if (!means_only_user(one, &user))
			continue;
		*ret = user;
		return 0;
	}
	return FAIL(err, ERROR_UNSUPPORTED,
	            "this sandbox has the user '%s' (%u) alone: it cannot act as '%s'", user.name,
	            user.uid, name);
}

int user_find(const char *name, struct user *ret, struct error *err)
{
	AUTO(buf_done) struct buf passwd = BUF(FILE_MAX), group = BUF(FILE_MAX);

	if (geteuid() != 0) {
		read_table("/etc/passwd", &passwd);
		return find_only_user(buf_span(&passwd), name, ret, err);
	}
	if (name[0] == '\0') {
		*ret = (struct user){.groups = {0}, .group_count = 1};
		copy_text(ret->name, sizeof(ret->name), SPAN("root"));
		copy_text(ret->home, sizeof(ret->home), SPAN("/root"));
		copy_text(ret->shell, sizeof(ret->shell), SPAN("/bin/sh"));
		return 0;
	}
	read_table("/etc/passwd", &passwd);
	read_table("/etc/group", &group);
	return user_parse(buf_span(&passwd), buf_span(&group), name, ret, err);
}

static int become_user(const struct user *user, uid_t saved, struct error *err)
{
	/* An agent that is not root has one user, which it is already. */
	if (geteuid() != 0)
		return 0;
	if (setgroups(user->group_count, user->groups) < 0 ||
	    setresgid(user->gid, user->gid, user->gid) < 0 ||
	    setresuid(user->uid, user->uid, saved) < 0)
		return FAIL_ERRNO(err, "become user '%s'", user->name);
	/* A change of user may have set the dumpable flag to fs.suid_dumpable. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	return 0;
}

int user_become(const struct user *user, struct error *err)
{
	return become_user(user, user->uid, err);
}

int user_borrow(const struct user *user, struct error *err)
{
	return become_user(user, 0, err);
}
