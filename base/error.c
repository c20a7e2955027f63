/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "base/error.h"

int error_set(struct error *err, int number, const char *format, ...)
{
	va_list args;

	if (!err)
		return number;

	err->number = number;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return number;
}
