/* SPDX-License-Identifier: Apache-2.0 */
/* provider/broker_load.h — how many calls wait for an answer of the broker, which serves them one
 * after the other. One value per process, for the metrics. Any thread. */
#pragma once

void broker_load_add(int calls);
unsigned broker_load_get(void);
