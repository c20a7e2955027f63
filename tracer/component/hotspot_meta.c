/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/component/hotspot.h"

bool hotspot_meta(struct hotspot *hotspot, const struct query *query,
		  struct component *ret)
{
	return false;
}

bool hotspot_code(struct hotspot *hotspot, uint64_t addr, struct component *ret)
{
	return false;
}
