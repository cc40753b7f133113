/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/names.h"

#include "wire/agent.h"
#include "wire/broker.h"

static const char *const agent_names[AGENT_TYPE_COUNT] = {
        [AGENT_PING] = "ping",
        [AGENT_EXEC] = "exec",
        [AGENT_ATTACH] = "attach",
        [AGENT_SIGNAL] = "signal",
        [AGENT_PROCESSES] = "processes",
        [AGENT_FEED] = "feed",
        [AGENT_FORGET] = "forget",
        [AGENT_READ] = "read",
        [AGENT_WRITE] = "write",
        [AGENT_STAT] = "stat",
        [AGENT_LIST] = "list",
        [AGENT_GLOB] = "glob",
        [AGENT_MKDIR] = "mkdir",
        [AGENT_REMOVE] = "remove",
        [AGENT_RENAME] = "rename",
        [AGENT_COPY] = "copy",
        [AGENT_TAR_OUT] = "tar_out",
        [AGENT_TAR_IN] = "tar_in",
        [AGENT_WATCH] = "watch",
        [AGENT_COMPARE] = "compare",
        [AGENT_TAR_BASE] = "tar_base",
        [AGENT_WARM] = "warm",
        [AGENT_DIAL] = "dial",
        [AGENT_JOB] = "job",
        [AGENT_FIND_JOB] = "find_job",
        [AGENT_AWAIT] = "await",
        [AGENT_TERMINAL] = "terminal",
        [AGENT_INSPECT] = "inspect",
        [AGENT_SET_ATTRIBUTES] = "set_attributes",
        [AGENT_SEARCH] = "search",
        [AGENT_SERVICE] = "service",
        [AGENT_SERVICES] = "services",
        [AGENT_SERVICE_LOG] = "service_log",
        [AGENT_PORTS] = "ports",
        [AGENT_OPEN] = "open",
        [AGENT_IDENTITY] = "identity",
};

static const char *const broker_names[BROKER_TYPE_COUNT] = {
        [BROKER_HELLO] = "hello",
        [BROKER_CREATE] = "create",
        [BROKER_START] = "start",
        [BROKER_STOP] = "stop",
        [BROKER_DESTROY] = "destroy",
        [BROKER_PAUSE] = "pause",
        [BROKER_RESUME] = "resume",
        [BROKER_LIST] = "list",
        [BROKER_STATS] = "stats",
        [BROKER_TEMPLATE] = "template",
        [BROKER_SNAPSHOT] = "snapshot",
        [BROKER_RESTORE] = "restore",
        [BROKER_SNAPSHOT_REMOVE] = "snapshot_remove",
        [BROKER_SNAPSHOT_LIST] = "snapshot_list",
        [BROKER_VOLUME] = "volume",
        [BROKER_VOLUMES] = "volumes",
        [BROKER_POOL] = "pool",
        [BROKER_POOLS] = "pools",
        [BROKER_MEMORY] = "memory",
        [BROKER_BACKUP] = "backup",
        [BROKER_LIMIT] = "limit",
        [BROKER_EGRESS] = "egress",
        [BROKER_MEASURE] = "measure",
        [BROKER_TRASH] = "trash",
        [BROKER_PROBE] = "probe",
};

const char *agent_type_name(uint16_t type)
{
	const char *name = type < AGENT_TYPE_COUNT ? agent_names[type] : NULL;

	return name ? name : "other";
}

const char *broker_type_name(uint16_t type)
{
	const char *name = type < BROKER_TYPE_COUNT ? broker_names[type] : NULL;

	return name ? name : "other";
}
