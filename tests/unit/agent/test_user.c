/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/user.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
                             "broken line\n"
                             "too:few:fields\n"
                             "bad:x:99999999999:0::/:/bin/sh\n"
                             "user:x:1000:1001:A User,,,:/home/user:/bin/bash\n"
                             "plain:x:1002:1002:::\n";
static const char group[] = "root:x:0:\n"
                            "user:x:1001:\n"
                            "docker:x:50:other,user\n"
                            "audio:x:60:user,other\n"
                            "none:x:70:username,auser\n"
                            "own:x:1001:user\n"
                            "bad:x:nan:user\n";

static int parse(const char *name, struct user *ret, struct error *err)
{
	return user_parse(SPAN(passwd), SPAN(group), name, ret, err);
}

TEST(a_user_is_found_by_name_and_by_number)
{
	struct user by_name, by_number;
	struct error err;

	assert_int_equal(parse("user", &by_name, &err), 0);
	assert_int_equal(by_name.uid, 1000);
	assert_int_equal(by_name.gid, 1001);
	assert_string_equal(by_name.home, "/home/user");
	assert_string_equal(by_name.shell, "/bin/bash");
	assert_int_equal(by_name.group_count, 3);
	assert_int_equal(by_name.groups[0], 1001);
	assert_int_equal(by_name.groups[1], 50);
	assert_int_equal(by_name.groups[2], 60);
	assert_int_equal(parse("1000", &by_number, &err), 0);
	assert_memory_equal(&by_name, &by_number, sizeof(by_name));
}

TEST(of_several_names_the_first_that_there_is_counts)
{
	struct user user;
	struct error err;

	assert_int_equal(parse("nobody|user|root", &user, &err), 0);
	assert_string_equal(user.name, "user");
	assert_int_equal(parse("nobody|nothing", &user, &err), -1);
	assert_non_null(strstr(err.text, "'nothing'"));
}

TEST(a_named_group_takes_the_place_of_the_users_groups)
{
	struct user user;
	struct error err;

	assert_int_equal(parse("user:4321", &user, &err), 0);
	assert_int_equal(user.uid, 1000);
	assert_int_equal(user.gid, 4321);
	assert_int_equal(user.group_count, 1);
	assert_int_equal(user.groups[0], 4321);
	assert_int_equal(parse("user:docker", &user, &err), 0);
	assert_int_equal(user.gid, 50);
	assert_int_equal(parse("nobody|user:1", &user, &err), 0);
	assert_int_equal(user.uid, 1000);
	assert_int_equal(user.gid, 1);
	assert_int_equal(parse("5:6", &user, &err), 0);
	assert_int_equal(user.uid, 5);
	assert_int_equal(user.gid, 6);
	assert_int_equal(parse("user:none-such", &user, &err), -1);
	assert_non_null(strstr(err.text, "no group 'none-such'"));
	assert_int_equal(parse("user:", &user, &err), -1);
	assert_int_equal(parse(":5", &user, &err), -1);
	assert_int_equal(parse("user:4294967295", &user, &err), -1);
}

TEST(empty_fields_get_what_is_usual)
{
	struct user user;
	struct error err;

	assert_int_equal(parse("plain", &user, &err), 0);
	assert_string_equal(user.home, "/");
	assert_string_equal(user.shell, "/bin/sh");
}

TEST(a_number_that_nobody_has_is_a_user_without_a_name)
{
	struct user user;
	struct error err;

	assert_int_equal(parse("4321", &user, &err), 0);
	assert_int_equal(user.uid, 4321);
	assert_int_equal(user.gid, 4321);
	assert_int_equal(user.group_count, 1);
}

TEST(unknown_and_impossible_users_are_refused)
{
	static const char *const names[] = {"nobody-here", "bad", "-1", "4294967295",
	                                    "99999999999"};
	struct user user;
	struct error err;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		assert_int_equal(parse(names[i], &user, &err), -1);
		assert_int_equal(err.code, ERROR_NOT_FOUND);
	}
}

TEST(a_hostile_group_file_gives_at_most_so_many_groups)
{
	AUTO(buf_done) struct buf many = BUF(1 << 20);
	struct user user;
	struct error err;

	for (int i = 0; i < 5000; i++)
		buf_addf(&many, "g%d:x:%d:user\n", i, 2000 + i);
	assert_int_equal(user_parse(SPAN(passwd), buf_span(&many), "user", &user, &err), 0);
	assert_int_equal(user.group_count, USER_GROUPS_MAX);
}

static bool needs_root(void)
{
	if (getuid() == 0)
		return false;
	print_message("skipped: only root can become somebody else\n");
	return true;
}

TEST(a_command_runs_as_the_named_user)
{
	struct box b;
	AUTO_CLOSE int fd = -1;
	struct agent_exec command;
	struct ran r;

	if (needs_root())
		skip();
	b = box_start(BOX_PLAIN);
	fd = box_connect(&b);
	command = shell(&b, "id -u; id -g; id -G; echo $HOME $USER; "
	                    "grep -E 'CapEff' /proc/self/status; pwd");
	command.user = "nobody";
	command.cwd = "/tmp";
	r = exec(&b, fd, &command);
	assert_string_equal(buf_text(&r.out[0]), "65534\n65534\n65534\n/nonexistent nobody\n"
	                                         "CapEff:\t0000000000000000\n/tmp\n");
	ran_done(&r);
	command.cwd = ""; /* a home that is not there */
	command.args[2] = "pwd";
	r = exec(&b, fd, &command);
	assert_string_equal(buf_text(&r.out[0]), "/\n");
	ran_done(&r);
	command.user = "who-is-that";
	say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_NOT_FOUND);
	box_end(&b);
}

TEST(a_command_without_privileges_cannot_gain_any)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, "grep NoNewPrivs /proc/self/status");
	struct ran r;

	command.flags = AGENT_EXEC_NO_PRIVILEGES;
	r = exec(&b, fd, &command);
	assert_string_equal(buf_text(&r.out[0]), "NoNewPrivs:\t1\n");
	ran_done(&r);
	box_end(&b);
}

TEST(files_are_touched_as_the_named_user)
{
	struct box b;
	AUTO_CLOSE int fd = -1;
	struct agent_path path;
	struct agent_file file;

	if (needs_root())
		skip();
	b = box_start(BOX_PLAIN);
	fd = box_connect(&b);
	box_put(&b, "secret", "root's");
	assert_int_equal(chmod(box_path(&b, "secret"), 0600), 0);
	path = (struct agent_path){.path = box_path(&b, "secret"), .user = "nobody"};
	say(&b, fd, AGENT_READ, agent_path_shape, &path);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_FORBIDDEN);
	/* Another user on the same connection. */
	path.user = "";
	say(&b, fd, AGENT_STAT, agent_path_shape, &path);
	HEAR(&b, fd, AGENT_FILE, agent_file, &file);
	(void)hear_done(&b, fd);
	assert_int_equal(chmod(b.folder, 0777), 0);
	path = (struct agent_path){.path = box_path(&b, "made"), .user = "nobody"};
	say(&b, fd, AGENT_MKDIR, agent_path_shape, &path);
	HEAR(&b, fd, AGENT_FILE, agent_file, &file);
	assert_int_equal(file.uid, 65534);
	(void)hear_done(&b, fd);
	path.user = "who-is-that";
	say(&b, fd, AGENT_MKDIR, agent_path_shape, &path);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_NOT_FOUND);
	auto_close(&fd);
	fd = -1;
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(a_user_is_found_by_name_and_by_number),
	           CASE(of_several_names_the_first_that_there_is_counts),
	           CASE(a_named_group_takes_the_place_of_the_users_groups),
	           CASE(empty_fields_get_what_is_usual),
	           CASE(a_number_that_nobody_has_is_a_user_without_a_name),
	           CASE(unknown_and_impossible_users_are_refused),
	           CASE(a_hostile_group_file_gives_at_most_so_many_groups),
	           CASE(a_command_runs_as_the_named_user),
	           CASE(a_command_without_privileges_cannot_gain_any),
	           CASE(files_are_touched_as_the_named_user));
}
