/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_path.h — the PATH of a command whose environment has none. */
#pragma once

#define AGENT_PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
