/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/store/postgres_server.h — a PostgreSQL server of this test's own, when Debian's
 * package is there: in a temporary folder, on a socket in it, as a user that is not root. It dies
 * with us. */
#pragma once

#include <fcntl.h>
#include <glob.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "unit.h"

struct postgres_server {
	char programs[128]; /* the folder of initdb and postgres */
	char folder[64];
	pid_t pid;
	unsigned schemas;
	const char *missing; /* why there is none; NULL: there is one */
};

static inline const struct passwd *postgres_user(void)
{
	return geteuid() == 0 ? getpwnam("postgres") : getpwuid(geteuid());
}

/* Runs a program of the server's as its user; what it says is kept in the folder. */
static inline pid_t postgres_start(const struct postgres_server *s, const char *program,
                                   const char *const *arguments)
{
	const struct passwd *user = postgres_user();
	char path[256], log[128];
	const char *argv[24] = {path}; /* programs of PostgreSQL look for each other beside it */
	pid_t pid;

	for (size_t i = 0; arguments[i]; i++)
		argv[i + 1] = arguments[i];
	snprintf(path, sizeof(path), "%s/%s", s->programs, program);
	snprintf(log, sizeof(log), "%s/%s.log", s->folder, program);
	pid = fork();
	if (pid != 0)
		return pid;
	if (geteuid() == 0 && (setgid(user->pw_gid) < 0 || setuid(user->pw_uid) < 0))
		_exit(1);
	(void)prctl(PR_SET_PDEATHSIG, SIGQUIT);
	(void)!freopen("/dev/null", "r", stdin);
	(void)!freopen(log, "a", stdout);
	(void)!freopen(log, "a", stderr);
	(void)setenv("LC_ALL", "C.UTF-8", 1);
	(void)!chdir(s->folder);
	execv(path, (char *const *)(uintptr_t)argv);
	_exit(127);
}

static inline void postgres_dsn(const struct postgres_server *s, char *out, size_t size)
{
	snprintf(out, size, "postgresql:host=%s user=postgres dbname=postgres", s->folder);
}

static inline bool postgres_answers(const struct postgres_server *s)
{
	char dsn[256];
	PGconn *c;
	bool is_up;

	postgres_dsn(s, dsn, sizeof(dsn));
	c = PQconnectdb(dsn + strlen("postgresql:"));
	is_up = PQstatus(c) == CONNECTION_OK;
	PQfinish(c);
	return is_up;
}

/* Starts the server on what is in the folder, and waits until it answers. */
static inline void postgres_run_server(struct postgres_server *s)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	const char *const arguments[] = {"-D", "data",
	                                 "-k", s->folder,
	                                 "-h", "",
	                                 "-c", "fsync=off",
	                                 "-c", "full_page_writes=off",
	                                 "-c", "max_connections=60",
	                                 NULL};

	s->pid = postgres_start(s, "postgres", arguments);
	for (unsigned i = 0; i < 4000 && !postgres_answers(s); i++) {
		assert_int_equal(waitpid(s->pid, NULL, WNOHANG), 0);
		nanosleep(&pause, NULL);
	}
}

static inline void postgres_end_server(struct postgres_server *s, int signo)
{
	if (s->pid > 0 && kill(s->pid, signo) == 0) /* 0 would be our own group */
		waitpid(s->pid, NULL, 0);
	s->pid = 0;
}

static inline const char *postgres_find(struct postgres_server *s)
{
	glob_t found;
	char *slash;

	if (!postgres_user())
		return "no user 'postgres' to run a database server as";
	if (glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) != 0)
		return "Debian's package postgresql is not installed";
	snprintf(s->programs, sizeof(s->programs), "%s", found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
	slash = strrchr(s->programs, '/');
	*slash = '\0';
	return NULL;
}

static inline void postgres_open(struct postgres_server *s)
{
	const char *const arguments[] = {"-D",    "data", "-U",   "postgres",  "-A",
	                                 "trust", "-E",   "UTF8", "--no-sync", NULL};
	int status;

	*s = (struct postgres_server){.missing = postgres_find(s)};
	(void)postgres_find(s);
	if (s->missing)
		return;
	unit_folder(s->folder, sizeof(s->folder), "pg");
	assert_int_equal(chown(s->folder, postgres_user()->pw_uid, postgres_user()->pw_gid), 0);
	assert_int_equal(chmod(s->folder, 0755), 0);
	assert_true(waitpid(postgres_start(s, "initdb", arguments), &status, 0) > 0);
	assert_int_equal(status, 0);
	postgres_run_server(s);
}

static inline void postgres_close(struct postgres_server *s)
{
	char command[128];

	if (s->missing)
		return;
	postgres_end_server(s, SIGQUIT);
	snprintf(command, sizeof(command), "rm -rf '%s'", s->folder);
	(void)!system(command);
}

static inline PGconn *postgres_raw(const char *dsn)
{
	PGconn *c = PQconnectdb(dsn + strlen("postgresql:"));

	if (PQstatus(c) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(c));
	return c;
}

static inline void postgres_do(PGconn *c, const char *sql)
{
	PGresult *result = PQexec(c, sql);
	ExecStatusType status = PQresultStatus(result);

	PQclear(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(c));
}

/* The first value of the first row; the caller frees it. */
static inline char *postgres_value(PGconn *c, const char *sql)
{
	PGresult *result = PQexec(c, sql);
	char *value;

	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) == 0)
		fail_msg("%s: %s", sql, PQerrorMessage(c));
	value = strdup(PQgetvalue(result, 0, 0));
	PQclear(result);
	return value;
}

/* The address of an empty schema. */
static inline void postgres_new_schema(struct postgres_server *s, char *out, size_t size)
{
	char sql[64], dsn[160];
	PGconn *c;

	snprintf(sql, sizeof(sql), "CREATE SCHEMA s%u", ++s->schemas);
	postgres_dsn(s, dsn, sizeof(dsn));
	c = postgres_raw(dsn);
	postgres_do(c, sql);
	PQfinish(c);
	snprintf(out, size, "%s options=-csearch_path=s%u", dsn, s->schemas);
}
