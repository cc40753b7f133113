/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/guard.h"

#include <stdbool.h>

#include "unit.h"

#define ROOT "/home/user/project"

static bool passes(const struct command_guard *guard, const char *line)
{
	struct error err = {0};

	return command_guard_check(guard, line, &err) == 0;
}

TEST(ordinary_work_is_let_through)
{
	static const char *const lines[] = {
	        "",
	        "ls",
	        "ls -la src && wc -l *.py | sort -rn",
	        "python3 notes/run.py --out=results/a.json",
	        "cat <<'EOF' > run.py\nopen('/etc/passwd')\n../x\nEOF\npython3 run.py",
	        "grep -rn '/api/v1' src",
	        "sed -i 's/a/b/; /^x/d' a.txt",
	        "awk '/begin/ { print $1 }' log.txt",
	        "curl https://example.com/a/../b -o page.html 2>/dev/null",
	        "git diff HEAD~1..HEAD",
	        "git log main...topic",
	        "echo a > out.txt 2>&1",
	        "cat " ROOT "/src/main.c",
	        "head -c 10 /dev/urandom | base64",
	        "for i in 1 2 3; do echo $i; done",
	        "echo wait... done",
	        "x=$(ls src); echo \"$x\"",
	        "gcc -Iinclude -o app main.c && ./app",
	        "echo 'it costs 5/7'",
	        "true # see /etc/hosts",
	};
	const struct command_guard guard = {.root = ROOT};

	for (size_t i = 0; i < COUNT_OF(lines); i++)
		if (!passes(&guard, lines[i]))
			fail_msg("%s", lines[i]);
}

TEST(obvious_ways_out_are_refused)
{
	static const char *const lines[] = {
	        "cat /etc/passwd",
	        "find / -name id_rsa",
	        "ls -R /",
	        "grep -r secret /",
	        "du -sh /*",
	        "cd ..",
	        "cat ../other/a.txt",
	        "cat a/../../b",
	        "cat src/..",
	        "cd /; ls",
	        "ls;cat /etc/passwd",
	        "ls|tee /tmp/x",
	        "cat</etc/passwd",
	        "echo x >/etc/cron.d/x",
	        "cat '/etc/passwd'",
	        "cat \"/etc/passwd\"",
	        "cat /et\"c/passwd\"",
	        "cat \\/etc/passwd",
	        "tar --directory=/etc -cf a.tar .",
	        "gcc -I/usr/include main.c",
	        "PATH=/opt/bin make",
	        "echo $(cat /etc/passwd)",
	        "echo `cat /etc/passwd`",
	        "echo \"$(cat /etc/passwd)\"",
	        "bash -c 'cat /etc/passwd'",
	        "sh -c \"cd .. && ls\"",
	        "eval 'cat ../x'",
	        "ls ~",
	        "cat ~/.ssh/id_rsa",
	        "cat $HOME/.bashrc",
	        "cat \"${HOME}/.bashrc\"",
	        "cat /home/user/project-other/x",
	        "cat <<EOF\nx\nEOF\ncat /etc/passwd",
	        "diff <(cat /etc/passwd) a",
	        "/usr/bin/env python3",
	        "curl file:///etc/passwd",
	};
	const struct command_guard guard = {.root = ROOT}, open = {.root = NULL};

	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		if (passes(&guard, lines[i]))
			fail_msg("%s", lines[i]);
		assert_true(passes(&open, lines[i]));
	}
}

TEST(a_refusal_says_what_and_that_it_is_best_effort)
{
	const struct command_guard guard = {.root = ROOT};
	struct error err = {0};

	assert_int_equal(command_guard_check(&guard, "find / -name x", &err), -1);
	assert_int_equal(err.code, ERROR_FORBIDDEN);
	assert_non_null(strstr(err.text, "whole filesystem"));
	assert_non_null(strstr(err.hint, "best effort"));
}

TEST(runtimes_that_are_not_listed_are_refused_where_they_are_called)
{
	static const char *const listed[] = {"bash", "node", NULL};
	static const char *const refused[] = {
	        "python3 a.py",         "python a.py",         "ls && python3.11 -c 1",
	        "env A=b python3 x",    "A=b pip install x",   "find . | xargs python3",
	        "bash -c 'python3 x'",  "echo $(python3 x)",   "if python3 x; then ls; fi",
	        "sudo -E pip3 install", "./venv/bin/python x", "cat a |python3",
	        "Rscript -e 1",         "java -jar a.jar",     "ls && jshell"};
	static const char *const fine[] = {"node a.js",         "npm test",    "cat python3",
	                                   "echo python3 a.py", "bash run.sh", "ls python",
	                                   "grep -r python ."};
	const struct command_guard guard = {.runtimes = listed};

	for (size_t i = 0; i < COUNT_OF(refused); i++)
		if (passes(&guard, refused[i]))
			fail_msg("%s", refused[i]);
	for (size_t i = 0; i < COUNT_OF(fine); i++)
		if (!passes(&guard, fine[i]))
			fail_msg("%s", fine[i]);
}

TEST(what_is_cut_short_or_nested_deep_ends)
{
	static const char *const lines[] = {"'",  "\"",   "\"$(",    "`",   "$(",
	                                    "<<", "<<'",  "\\",      "<<<", "$($($($($($(",
	                                    "#",  "eval", "bash -c", "a\\"};
	const struct command_guard guard = {.root = ROOT};

	for (size_t i = 0; i < COUNT_OF(lines); i++)
		assert_true(passes(&guard, lines[i]));
}

int main(void)
{
	return RUN(CASE(ordinary_work_is_let_through), CASE(obvious_ways_out_are_refused),
	           CASE(a_refusal_says_what_and_that_it_is_best_effort),
	           CASE(runtimes_that_are_not_listed_are_refused_where_they_are_called),
	           CASE(what_is_cut_short_or_nested_deep_ends));
}
