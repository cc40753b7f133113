/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/json/machine.h — a struct with a member of every kind, and its shape. */
#pragma once

#include "json/json.h"

struct limits {
	double cpu;
	int64_t pids;
};

static const struct json_member limits_shape_members[] = {
        JSON_NUMBER_MEMBER(limits, cpu, .max = 1024, .about = "vCPUs", .example = "0.5"),
        JSON_WHOLE_MEMBER(limits, pids, .min = 8, .max = 4096),
};
static JSON_SHAPE(limits_shape, "Limits", limits, "What it may use");

struct port {
	int64_t number;
	const char *name;
};

static const struct json_member port_shape_members[] = {
        JSON_WHOLE_MEMBER(port, number, .flags = JSON_REQUIRED, .min = 1, .max = 65535),
        JSON_TEXT_MEMBER(port, name, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(port_shape, "Port", port, NULL);

struct machine {
	const char *name, *password;
	struct span stdin_bytes;
	int64_t uptime_ms, exit_code;
	double load;
	bool persistent;
	int network;
	const char **args;
	struct json_map env;
	struct limits limits;
	struct json_list ports;
	struct span extra;
	int64_t created_at;
	uint64_t present;
};

static const char *const networks[] = {"blocked", "internet", NULL};
static const struct json_member machine_shape_members[] = {
        JSON_TEXT_MEMBER(machine, name, .flags = JSON_REQUIRED, .min = 1, .max = 8,
                         .about = "A \"name\"", .example = "a1"),
        JSON_TEXT_MEMBER(machine, password, .flags = JSON_SECRET | JSON_OMIT_EMPTY),
        JSON_BYTES_MEMBER(machine, stdin_bytes, .flags = JSON_OMIT_EMPTY, .max = 6,
                          .name = "stdin"),
        JSON_WHOLE_MEMBER(machine, uptime_ms, .flags = JSON_OMIT_EMPTY),
        JSON_WHOLE_MEMBER(machine, exit_code, .flags = JSON_NULLABLE, .min = -1, .max = 255),
        JSON_NUMBER_MEMBER(machine, load, .flags = JSON_OMIT_EMPTY),
        JSON_BOOL_MEMBER(machine, persistent, .flags = JSON_OMIT_EMPTY),
        JSON_CHOICE_MEMBER(machine, network, .choices = networks),
        JSON_TEXT_LIST_MEMBER(machine, args, .flags = JSON_OMIT_EMPTY, .max = 3),
        JSON_TEXT_MAP_MEMBER(machine, env, .flags = JSON_OMIT_EMPTY, .max = 2),
        JSON_OBJECT_MEMBER(machine, limits, &limits_shape, .flags = JSON_OMIT_EMPTY),
        JSON_LIST_MEMBER(machine, ports, &port_shape, .flags = JSON_OMIT_EMPTY, .max = 2),
        JSON_RAW_MEMBER(machine, extra, .flags = JSON_OMIT_EMPTY),
        JSON_TIME_MEMBER(machine, created_at, .flags = JSON_OMIT_EMPTY),
};
static JSON_BITS_SHAPE(machine_shape, "Machine", machine, NULL);
