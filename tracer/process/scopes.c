/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/process/scopes.h"

bool scopes_unit(Dwarf *dwarf, uint64_t addr, Dwarf_Die *ret)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Aranges *index;
	size_t count = 0;

	if (dwarf_addrdie(dwarf, addr, ret))
		return true;
	if (dwarf_getaranges(dwarf, &index, &count) == 0 && count)
		return false;
	while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, ret, NULL) == 0)
		if (dwarf_haspc(ret, addr) > 0)
			return true;
	return false;
}

int scopes_at(Dwarf_Die *unit, uint64_t addr, Dwarf_Die **ret)
{
	Dwarf_Die *scopes = NULL, inner;

	if (dwarf_getscopes(unit, addr, &scopes) <= 0)
		return 0;
	inner = scopes[0];
	free(scopes);
	*ret = NULL;
	return dwarf_getscopes_die(&inner, ret);
}
