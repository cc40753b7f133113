/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/enclosure.h"
#include "agent/listener.h"
#include "agent/machine.h"
#include "agent/orphan.h"
#include "agent/reverse.h"
#include "agent/rehearse.h"
#include "agent/standby.h"
#include "agent/score.h"
#include "agent/tunnel.h"
#include "agent/image_user.h"
#include "agent/setup.h"
#include "agent/warm.h"
#include "base/clock.h"
#include "base/log.h"

#define BEAT_SIZE_MAX 64
#define MMAP_THRESHOLD (64 * 1024)

struct options {
	int listener, setup; /* -1 = not given */
	struct setup_result setup_result;
	int handed;                     /* in gVisor: see enclosure.h; -1 = not given */
	int memory_events, pids_events; /* see cause.h; -1 = not given */
	const char *host_root;
	const char *connect; /* the server's socket, in place of a listener; see reverse.h */
	const char *tunnel;  /* the port to listen on; see tunnel.h */
	struct machine machine;
};

static int parse_fd(const char *text, int *ret, struct error *err)
{
	int64_t fd;

	if (span_parse_whole(span_of(text), 3, INT16_MAX, &fd, err) < 0)
		return FAIL_CONTEXT(err, "descriptor '%s'", text);
	*ret = (int)fd;
	return 0;
}

static int parse_option(struct options *o, const char *name, const char *value, struct error *err)
{
	if (strcmp(name, "--listen-fd") == 0)
		return parse_fd(value, &o->listener, err);
	if (strcmp(name, "--handed-fd") == 0 && strcmp(value, "0") == 0)
		return enclosure_take_socket(STDIN_FILENO, &o->handed, err);
	if (strcmp(name, "--setup-fd") == 0)
		return parse_fd(value, &o->setup, err);
	if (strcmp(name, "--memory-events-fd") == 0)
		return parse_fd(value, &o->memory_events, err);
	if (strcmp(name, "--pids-events-fd") == 0)
		return parse_fd(value, &o->pids_events, err);
	if (strcmp(name, "--host-root") == 0)
		o->host_root = value;
	else if (strcmp(name, "--connect") == 0)
		o->connect = value;
	else if (strcmp(name, "--tunnel") == 0)
		o->tunnel = value;
	else if (strcmp(name, "--machine") == 0)
		o->machine.hostname = value;
	else if (strcmp(name, "--machine-pids") == 0)
		return span_parse_whole(span_of(value), 1, INT32_MAX, &o->machine.pids_max, err);
	else
		return FAIL(err, ERROR_INVALID, "unknown option '%s'", name);
	return 0;
}

static int parse_options(int argc, char **argv, struct options *ret, struct error *err)
{
	struct options o = {.listener = -1,
	                    .setup = -1,
	                    .handed = -1,
	                    .setup_result = {-1, -1},
	                    .memory_events = -1,
	                    .pids_events = -1};

	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			return FAIL(err, ERROR_INVALID, "option '%s' needs a value", argv[i]);
		if (parse_option(&o, argv[i], argv[i + 1], err) < 0)
			return -1;
	}
	if ((o.listener >= 0) + !!o.connect + (o.handed >= 0) + !!o.machine.hostname + !!o.tunnel !=
	    1)
		return FAIL(err, ERROR_INVALID,
		            "one of --listen-fd, --connect, --handed-fd, --tunnel and --machine is "
		            "needed");
	if (!o.machine.hostname != !o.machine.pids_max)
		return FAIL(err, ERROR_INVALID, "--machine goes with --machine-pids");
	if (o.host_root && (o.setup >= 0 || o.host_root[0] != '/'))
		return FAIL(err, ERROR_INVALID,
		            "--host-root is an absolute path and goes without --setup-fd");
	*ret = o;
	return 0;
}

/* Descriptors 0 to 2 must be in use, so that the agent never opens another file there. */
static void fill_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < 3);
	if (fd >= 3)
		(void)close(fd);
}

/* An exec keeps ignored signals: without this, commands would ignore SIGHUP of a server started
 * under nohup. */
static void reset_signals(void)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &standard, NULL);
}

/* gVisor knows no descriptor above INT_MAX. It hands over one descriptor, which must stay open. */
static int keep_descriptors_from_commands(const struct options *o)
{
	return o->handed >= 0 ? 0 : close_range(3, INT_MAX, CLOSE_RANGE_CLOEXEC);
}

/* All signals stay blocked: the agent reads the needed ones from a descriptor, a broken pipe is an
 * errno, and no process inside can end the agent (SIGKILL works from outside). */
static int prepare_process(const struct options *o, struct error *err)
{
	sigset_t all;

	reset_signals();
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	fill_standard_fds();
	(void)umask(022);
	(void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
	(void)mallopt(M_TRIM_THRESHOLD, MMAP_THRESHOLD);
	(void)mallopt(M_ARENA_MAX, 1);
	/* Process 1 already is the subreaper. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return FAIL_ERRNO(err, "adopt orphans");
	if (keep_descriptors_from_commands(o) < 0 ||
	    (o->listener >= 0 && fcntl(o->listener, F_SETFL, O_NONBLOCK) < 0))
		return FAIL_ERRNO(err, "listening descriptor %d", o->listener);
	score_open();
	return 0;
}

/* No process inside may trace the agent or read its memory. Set after the set-up, which needs the
 * agent's own /proc. */
static int hide_from_tracers(struct error *err)
{
	return prctl(PR_SET_DUMPABLE, 0) < 0 ? FAIL_ERRNO(err, "hide from tracers") : 0;
}

static void on_listener(struct agent *a, UNUSED struct watch *w, UNUSED uint32_t events)
{
	int fd = listener_accept(a, &a->listener);

	if (fd < 0)
		return;
	orphan_renew(a);
	connection_accept(a, fd);
}

/* The sandbox is claimed and begins to serve. Connections waited until now. */
static void on_claim(struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	struct error err = {0};

	a->started_ms = clock_monotonic_ms();
	a->boot_id = id_new();
	views_begin(&a->views, a->started_ms);
	a->stopped = setup_claim(w->fd, &err) < 0;
	orphan_renew(a);
	watch_close(a, w);
	watch_set(a, &a->listener.watch, EPOLLIN);
}

static int open_watches(struct agent *a, const struct options *o, struct error *err)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, VIEWS_SIGNAL);
	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	listener_init(&a->listener, o->handed >= 0 ? o->handed : o->listener);
	if (o->handed >= 0)
		a->listener.accept = enclosure_accept;
	a->listener.watch.on_event = o->tunnel ? tunnel_on_listener : on_listener;
	a->claim = (struct watch){.fd = o->setup_result.claim_fd, .on_event = on_claim};
	a->signals = (struct watch){.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK),
	                            .on_event = agent_on_signal};
	if (a->epoll < 0 || a->signals.fd < 0)
		return FAIL_ERRNO(err, "open the event loop");
	if (!o->connect)
		watch_set(a, a->claim.fd >= 0 ? &a->claim : &a->listener.watch, EPOLLIN);
	watch_set(a, &a->signals, EPOLLIN);
	return 0;
}

static int agent_open(struct agent *a, const struct options *o, const struct views *views,
                      struct error *err)
{
	*a = (struct agent){.views = *views,
	                    .started_ms = clock_monotonic_ms(),
	                    .boot_id = id_new(),
	                    .home = o->host_root,
	                    .is_machine = o->machine.hostname != NULL,
	                    .has_tunnels = o->tunnel != NULL,
	                    .memory_events_fd = o->memory_events,
	                    .pids_events_fd = o->pids_events,
	                    .resolve = o->host_root ? RESOLVE_IN_ROOT : 0};
	views_begin(&a->views, a->started_ms);
	standby_init(&a->standby);
	reverse_init(a, o->connect);
	tunnels_init(a);
	a->stops_at = DEADLINE_NEVER;
	list_init(&a->connections);
	list_init(&a->closed);
	list_init(&a->processes);
	list_init(&a->forgotten);
	list_init(&a->posts);
	list_init(&a->services);
	list_init(&a->carries);
	list_init(&a->ended_carries);
	/* In a sandbox the agent's folder is "/" and it keeps no descriptor of it: a snapshot may
	 * replace the root, which moves the working folder but no descriptor. */
	a->root = AT_FDCWD;
	if (o->host_root) {
		a->root = open(o->host_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (a->root < 0)
			return FAIL_ERRNO(err, "open '%s'", o->host_root);
	}
	return open_watches(a, o, err);
}

/* The other members of the set-up. A warm interpreter starts before a create takes this sandbox;
 * if it fails to start, the first call that needs it gets the error. */
static void begin_wishes(struct agent *a, struct buf *wishes)
{
	AUTO(arena_done) struct arena arena = {0};
	struct span rest = buf_span(wishes), payload;
	struct agent_warm warm;
	struct error ignored;
	uint16_t type;

	while (!wishes->overflowed && wire_next(&rest, &type, &payload, NULL, &ignored) > 0)
		if (type == AGENT_BEAT)
			orphan_take_beat(a, payload);
		else if (wire_decode(&arena, payload, agent_warm_shape, &warm, sizeof(warm),
		                     &ignored) == 0)
			(void)!warm_set(a, &warm, &ignored);
	buf_done(wishes);
}

/* The broker makes this process before a create needs the sandbox, so work that is the same for
 * all sandboxes is done now. A failure is reported when the plan has arrived. */
static int run_setup(struct options *o, struct views *views, struct buf *wishes, struct error *err)
{
	struct isolation_prepared prepared = ISOLATION_PREPARED_NONE;
	struct error failure = {0};
	int status;

	(void)!views_prepare(views, &prepared, &failure);
	status = setup_run(o->setup, &(struct setup_begun){&prepared, &failure}, &o->setup_result,
	                   wishes, err);
	isolation_prepared_close(&prepared);
	return status;
}

static int begin_listener(struct options *o, struct error *err)
{
	if (o->tunnel)
		return tunnel_begin(o->tunnel, &o->listener, err);
	return o->machine.hostname ? machine_begin(&o->machine, &o->listener, err) : 0;
}

/* The exit status of the program that copies itself. */
static int copy_self(const char *path)
{
	struct error err;

	if (agent_copy_self(path, &err) == 0)
		return 0;
	log_error("the agent is not copied", FAILURE(&err));
	return 1;
}

int agent_main(int argc, char **argv)
{
	AUTO(buf_done) struct buf wishes = BUF(AGENT_WARM_WISH_MAX + BEAT_SIZE_MAX);
	struct views views = {.folder = -1};
	struct options options;
	struct agent agent;
	struct error err;

	if (argc == 3 && strcmp(argv[1], STANDBY_OPTION) == 0)
		return standby_main(argv[2]);
	if (argc == 3 && strcmp(argv[1], AGENT_COPY_OPTION) == 0)
		return copy_self(argv[2]);
	if (parse_options(argc, argv, &options, &err) < 0 || begin_listener(&options, &err) < 0 ||
	    prepare_process(&options, &err) < 0 ||
	    (options.setup >= 0 && run_setup(&options, &views, &wishes, &err) < 0) ||
	    hide_from_tracers(&err) < 0) {
		log_error("agent cannot start", FAILURE(&err));
		return 1;
	}
	if (options.setup_result.enclosure_fd >= 0) {
		enclosure_run(options.listener, options.setup_result.enclosure_fd);
		return 0;
	}
	if (agent_open(&agent, &options, &views, &err) < 0 ||
	    (options.handed >= 0 && enclosure_tell_ready(options.handed, &err) < 0)) {
		log_error("agent cannot start", FAILURE(&err));
		return 1;
	}
	if (options.setup_result.claim_fd >= 0)
		rehearse_first_command();
	if (options.connect || options.machine.hostname || options.tunnel)
		image_user_add();
	standby_start(&agent);
	begin_wishes(&agent, &wishes);
	agent_run(&agent);
	if (options.machine.hostname)
		machine_end();
	return 0;
}
