/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rowbytes - instructions made out of the rows of disasm/tables.h
 *
 * So that each row, also one that is added later, is tried on the processor.
 */

#include "disasm/tables.h"

/* A simple generator that gives the same numbers everywhere. */
struct random {
	uint64_t state;
};

uint64_t random_next(struct random *random);

static inline uint64_t random_below(struct random *random, uint64_t n)
{
	return random_next(random) % n;
}

enum { ROWBYTES_ENCODINGS = 4 };

/*
 * Bytes of an instruction for @row of @map with a random memory operand;
 * INSN_BYTES are written, all but the first few at random.  False if the row
 * has no such prefix.
 */
bool rowbytes(struct random *random, enum insn_encoding encoding, unsigned map,
	      const struct row *row, unsigned prefix,
	      uint8_t bytes[INSN_BYTES]);
