/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rowbytes.h"

uint64_t random_next(struct random *random)
{
	/* Marsaglia's xorshift */
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return random->state;
}

static bool once_in(struct random *random, unsigned n)
{
	return random_below(random, n) == 0;
}

static uint8_t *legacy(struct random *random, unsigned map,
		       const struct row *row, unsigned prefix, uint8_t *p)
{
	static const uint8_t codes[] = { 0, 0x66, 0xf3, 0xf2 };

	if (row->flags & W && row->flags & R && once_in(random, 4))
		*p++ = 0xf0;
	if (codes[prefix])
		*p++ = codes[prefix];
	if (prefix > 1 && once_in(random, 8))
		*p++ = 0x66;
	if (once_in(random, 2))
		*p++ = 0x40 | random_below(random, 16);
	if (map)
		*p++ = 0x0f;
	if (map > 1)
		*p++ = map == 2 ? 0x38 : 0x3a;
	return p;
}

static uint8_t *vex(struct random *random, unsigned map, unsigned prefix,
		    uint8_t *p)
{
	/* vvvv, inverted: most must be none */
	unsigned vvvv = once_in(random, 2) ? 15 : random_below(random, 16);
	unsigned length = random_below(random, 2);

	*p++ = 0xc4;
	*p++ = random_below(random, 8) << 5 | map;
	*p++ = random_below(random, 2) << 7 | vvvv << 3 | length << 2 | prefix;
	return p;
}

static uint8_t *evex(struct random *random, unsigned map, unsigned prefix,
		     uint8_t *p)
{
	unsigned vvvv = once_in(random, 2) ? 15 : random_below(random, 16);
	unsigned mask = once_in(random, 2) ? 0 : random_below(random, 8);
	unsigned zero = mask && once_in(random, 2);
	unsigned broadcast = once_in(random, 4);

	*p++ = 0x62;
	*p++ = random_below(random, 16) << 4 | map;
	*p++ = random_below(random, 2) << 7 | vvvv << 3 | 4 | prefix;
	*p++ = zero << 7 | random_below(random, 3) << 5 | broadcast << 4 |
	       (vvvv == 15 || once_in(random, 2)) << 3 | mask;
	return p;
}

static uint8_t *modrm(struct random *random, const struct row *row, uint8_t *p)
{
	unsigned reg = random_below(random, 8);

	while (!(row->regs >> reg & 1))
		reg = (reg + 1) & 7;
	*p++ = random_below(random, 3) << 6 | reg << 3 |
	       (row->flags & VS ? 4 : random_below(random, 8));
	return p;
}

bool rowbytes(struct random *random, enum insn_encoding encoding, unsigned map,
	      const struct row *row, unsigned prefix, uint8_t bytes[INSN_BYTES])
{
	uint8_t *p = bytes;
	bool moffs = encoding == INSN_LEGACY && map == 0 &&
		     row->first >= 0xa0 && row->first <= 0xa3;

	if (!(row->prefixes >> prefix & 1))
		return false;
	for (unsigned i = 0; i < INSN_BYTES; i++)
		bytes[i] = random_next(random) >> 32;
	if (once_in(random, 8))
		*p++ = 0x67;
	if (once_in(random, 8))
		*p++ = 0x64 + random_below(random, 2);
	if (encoding == INSN_LEGACY)
		p = legacy(random, map, row, prefix, p);
	else if (encoding == INSN_EVEX)
		p = evex(random, map, prefix, p);
	else
		p = vex(random, map, prefix, p);
	*p++ = row->first + random_below(random, row->last - row->first + 1);
	if (!moffs)
		modrm(random, row, p);
	return true;
}
