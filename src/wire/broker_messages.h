/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_messages.h — all messages of wire/broker.h, for tables that name each of them. */
#pragma once

#include "base/bytes.h"
#include "wire/broker.h"
#include "wire/broker_backup.h"
#include "wire/broker_disk.h"
#include "wire/broker_egress.h"
#include "wire/broker_measure.h"
#include "wire/broker_pool.h"
#include "wire/broker_probe.h"
#include "wire/broker_sandbox.h"
#include "wire/broker_snapshot.h"
#include "wire/broker_template.h"
#include "wire/broker_trash.h"
#include "wire/broker_volume.h"
