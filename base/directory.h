/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * directory - what opendir(3) gives, for _cleanup_
 */

#include <dirent.h>

static inline void closedirp(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}
