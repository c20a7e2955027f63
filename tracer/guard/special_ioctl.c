/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/blkzoned.h>
#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "tracer/guard/special.h"
#include "tracer/guard/syscalls_table.h"

/* Commands that are older than the encoding of direction and size. */
static const struct rule_command named[] = {
	{ 0x5401, { MAYBE(2, 36) } },	   /* TCGETS */
	{ 0x5402, { IN(2, 36) } },	   /* TCSETS */
	{ 0x5403, { IN(2, 36) } },	   /* TCSETSW */
	{ 0x5404, { IN(2, 36) } },	   /* TCSETSF */
	{ 0x5405, { MAYBE(2, 18) } },	   /* TCGETA */
	{ 0x5406, { IN(2, 18) } },	   /* TCSETA */
	{ 0x5407, { IN(2, 18) } },	   /* TCSETAW */
	{ 0x5408, { IN(2, 18) } },	   /* TCSETAF */
	{ 0x5409, { { 0 } } },		   /* TCSBRK */
	{ 0x540a, { { 0 } } },		   /* TCXONC */
	{ 0x540b, { { 0 } } },		   /* TCFLSH */
	{ 0x540c, { { 0 } } },		   /* TIOCEXCL */
	{ 0x540d, { { 0 } } },		   /* TIOCNXCL */
	{ 0x540e, { { 0 } } },		   /* TIOCSCTTY */
	{ 0x540f, { OUT(2, SIZE_INT) } },  /* TIOCGPGRP */
	{ 0x5410, { IN(2, SIZE_INT) } },   /* TIOCSPGRP */
	{ 0x5411, { OUT(2, SIZE_INT) } },  /* TIOCOUTQ */
	{ 0x5412, { IN(2, 1) } },	   /* TIOCSTI */
	{ 0x5413, { OUT(2, 8) } },	   /* TIOCGWINSZ */
	{ 0x5414, { IN(2, 8) } },	   /* TIOCSWINSZ */
	{ 0x5415, { OUT(2, SIZE_INT) } },  /* TIOCMGET */
	{ 0x5416, { IN(2, SIZE_INT) } },   /* TIOCMBIS */
	{ 0x5417, { IN(2, SIZE_INT) } },   /* TIOCMBIC */
	{ 0x5418, { IN(2, SIZE_INT) } },   /* TIOCMSET */
	{ 0x5419, { OUT(2, SIZE_INT) } },  /* TIOCGSOFTCAR */
	{ 0x541a, { IN(2, SIZE_INT) } },   /* TIOCSSOFTCAR */
	{ 0x541b, { OUT(2, SIZE_INT) } },  /* FIONREAD */
	{ 0x541d, { { 0 } } },		   /* TIOCCONS */
	{ 0x541e, { MAYBE(2, 72) } },	   /* TIOCGSERIAL */
	{ 0x541f, { IN(2, 72) } },	   /* TIOCSSERIAL */
	{ 0x5420, { IN(2, SIZE_INT) } },   /* TIOCPKT */
	{ 0x5421, { IN(2, SIZE_INT) } },   /* FIONBIO */
	{ 0x5422, { { 0 } } },		   /* TIOCNOTTY */
	{ 0x5423, { IN(2, SIZE_INT) } },   /* TIOCSETD */
	{ 0x5424, { OUT(2, SIZE_INT) } },  /* TIOCGETD */
	{ 0x5425, { { 0 } } },		   /* TCSBRKP */
	{ 0x5427, { { 0 } } },		   /* TIOCSBRK */
	{ 0x5428, { { 0 } } },		   /* TIOCCBRK */
	{ 0x5429, { OUT(2, SIZE_INT) } },  /* TIOCGSID */
	{ 0x542e, { MAYBE(2, 32) } },	   /* TIOCGRS485 */
	{ 0x542f, { BOTH(2, 32) } },	   /* TIOCSRS485 */
	{ 0x5441, { { 0 } } },		   /* TIOCGPTPEER */
	{ 0x5450, { { 0 } } },		   /* FIONCLEX */
	{ 0x5451, { { 0 } } },		   /* FIOCLEX */
	{ 0x5452, { IN(2, SIZE_INT) } },   /* FIOASYNC */
	{ 0x5460, { OUT(2, SIZE_LONG) } }, /* FIOQSIZE */
	{ 0x8901, { IN(2, SIZE_INT) } },   /* FIOSETOWN */
	{ 0x8902, { IN(2, SIZE_INT) } },   /* SIOCSPGRP */
	{ 0x8903, { OUT(2, SIZE_INT) } },  /* FIOGETOWN */
	{ 0x8904, { OUT(2, SIZE_INT) } },  /* SIOCGPGRP */
	{ 0x8905, { OUT(2, SIZE_INT) } },  /* SIOCATMARK */
	{ 0x8906, { OUT(2, SIZE_TIME) } }, /* SIOCGSTAMP */
	{ 0x8907, { OUT(2, SIZE_TIME) } }, /* SIOCGSTAMPNS */
	{ FIBMAP, { BOTH(2, SIZE_INT) } },
	{ FIGETBSZ, { OUT(2, SIZE_INT) } },
	{ BLKROSET, { IN(2, SIZE_INT) } },
	{ BLKROGET, { OUT(2, SIZE_INT) } },
	{ BLKRRPART, { { 0 } } },
	{ BLKGETSIZE, { OUT(2, SIZE_LONG) } },
	{ BLKFLSBUF, { { 0 } } },
	{ BLKRASET, { { 0 } } },
	{ BLKRAGET, { OUT(2, SIZE_LONG) } },
	{ BLKSECTGET, { OUT(2, 2) } },
	{ BLKSSZGET, { OUT(2, SIZE_INT) } },
	{ BLKDISCARD, { IN(2, 16) } },
	{ BLKIOMIN, { OUT(2, SIZE_INT) } },
	{ BLKIOOPT, { OUT(2, SIZE_INT) } },
	{ BLKALIGNOFF, { OUT(2, SIZE_INT) } },
	{ BLKPBSZGET, { OUT(2, SIZE_INT) } },
	{ BLKDISCARDZEROES, { OUT(2, SIZE_INT) } },
	{ BLKSECDISCARD, { IN(2, 16) } },
	{ BLKROTATIONAL, { OUT(2, 2) } },
	{ BLKZEROOUT, { IN(2, 16) } },
	{ FIFREEZE, { { 0 } } },
	{ FITHAW, { { 0 } } },
	/* Their ranges are not touched: even to look would fill them. */
	{ UFFDIO_API, { BOTH(2, sizeof(struct uffdio_api)) } },
	{ UFFDIO_REGISTER, { BOTH(2, sizeof(struct uffdio_register)) } },
	{ UFFDIO_UNREGISTER, { IN(2, sizeof(struct uffdio_range)) } },
	{ UFFDIO_WAKE, { IN(2, sizeof(struct uffdio_range)) } },
	{ UFFDIO_ZEROPAGE, { BOTH(2, sizeof(struct uffdio_zeropage)) } },
	{ UFFDIO_WRITEPROTECT, { IN(2, sizeof(struct uffdio_writeprotect)) } },
	{ UFFDIO_CONTINUE, { BOTH(2, sizeof(struct uffdio_continue)) } },
	/* Encoded as a pointer to an int, but the argument is a number. */
	{ FICLONE, { { 0 } } },
	/* Encoded as a pointer to a pointer, but it is the text itself. */
	{ 0x40082406, { STR(2) } }, /* PERF_EVENT_IOC_SET_FILTER */
};

/* A structure that ends in an array, whose count is an uint32_t in it. */
struct flexible {
	uint32_t number;
	uint16_t header, element, counter, width;
};

static const struct flexible flexibles[] = {
	{ _IOWR('f', 11, char[32]), 32, 56, 24, 4 },  /* FS_IOC_FIEMAP */
	{ _IOWR(0x94, 54, char[24]), 24, 32, 16, 2 }, /* FIDEDUPERANGE */
	{ BLKREPORTZONE, 16, 64, 8, 4 },
};

static bool add_flexible(struct planner *planner, uint32_t number)
{
	uint64_t addr = planner->call->args[2];
	uint32_t count = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flexibles); i++) {
		const struct flexible *f = &flexibles[i];

		if (f->number != number)
			continue;
		if (plan_read(planner, addr + f->counter, &count, f->width))
			plan_add_argument(planner, 2,
					  f->header +
						  (uint64_t)f->element * count,
					  BUFFER_IN | BUFFER_OUT);
		return true;
	}

	return false;
}

/* SIOCGIFNAME to SIOCSIFMAP work on a struct ifreq, with exceptions. */
static bool add_interface(struct planner *planner, uint32_t number)
{
	enum {
		SIZE_IFREQ = 40,
		SIZE_IFCONF = 16,
		GIFCONF = 0x8912,
		ETHTOOL = 0x8946,
	};

	if (number < 0x8910 || number > 0x8971)
		return false;

	if (number == GIFCONF) {
		/* A size, and a pointer to as many bytes. */
		struct buffer_use use;
		uint64_t conf[2];
		int parent = plan_add_argument(planner, 2, SIZE_IFCONF,
					       BUFFER_IN | BUFFER_OUT);

		if (parent < 0 || !plan_read(planner, planner->call->args[2],
					     conf, sizeof(conf)))
			return true;
		use = plan_nested(parent, 8, conf[1], plan_int(conf[0]),
				  BUFFER_OUT);
		plan_add(planner, &use);
		return true;
	}

	plan_add_argument(planner, 2, SIZE_IFREQ, BUFFER_IN | BUFFER_OUT);
	if (number >= ETHTOOL)
		plan_suspect_words(planner, planner->call->args[2], SIZE_IFREQ);

	return true;
}

/* Pages that a userfaultfd is given: what is copied, not where to. */
static bool add_userfault_copy(struct planner *planner, uint32_t number)
{
	uint64_t addr = planner->call->args[2];
	struct uffdio_copy copy;
	struct buffer_use use;
	int parent;

	if (number != UFFDIO_COPY)
		return false;
	parent = plan_add_argument(planner, 2, sizeof(copy),
				   BUFFER_IN | BUFFER_OUT);
	if (parent < 0 || !plan_read(planner, addr, &copy, sizeof(copy)))
		return true;
	use = plan_nested(parent, offsetof(struct uffdio_copy, src), copy.src,
			  copy.len, BUFFER_IN);
	plan_add(planner, &use);
	return true;
}

void special_ioctl(struct planner *planner)
{
	uint32_t number = (uint32_t)planner->call->args[1];
	uint64_t addr = planner->call->args[2];
	uint32_t size = _IOC_SIZE(number), dir = _IOC_DIR(number);
	uint8_t direction = 0;

	if (rule_command(planner, named, ARRAY_SIZE(named), number) ||
	    add_flexible(planner, number) ||
	    add_userfault_copy(planner, number) ||
	    add_interface(planner, number))
		return;
	if (!size || dir == _IOC_NONE) {
		plan_suspect(planner, addr);
		return;
	}

	if (dir & _IOC_WRITE)
		direction |= BUFFER_IN;
	if (dir & _IOC_READ)
		direction |= BUFFER_OUT;
	plan_add_argument(planner, 2, size, direction);
	/* It may say how long an array behind it is; and where a pointer was
	 * encoded by mistake, it is larger than that. */
	planner->plan->open_ended = dir & _IOC_WRITE || size == SIZE_LONG;
	if (dir & _IOC_WRITE)
		plan_suspect_words(planner, addr, size);
}

void special_fcntl(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 5, { BOTH(2, 32) } },	 /* F_GETLK */
		{ 6, { IN(2, 32) } },	 /* F_SETLK */
		{ 7, { IN(2, 32) } },	 /* F_SETLKW */
		{ 15, { IN(2, 8) } },	 /* F_SETOWN_EX */
		{ 16, { OUT(2, 8) } },	 /* F_GETOWN_EX */
		{ 17, { OUT(2, 8) } },	 /* F_GETOWNER_UIDS */
		{ 36, { BOTH(2, 32) } }, /* F_OFD_GETLK */
		{ 37, { IN(2, 32) } },	 /* F_OFD_SETLK */
		{ 38, { IN(2, 32) } },	 /* F_OFD_SETLKW */
		{ 1035, { OUT(2, 8) } }, /* F_GET_RW_HINT */
		{ 1036, { IN(2, 8) } },	 /* F_SET_RW_HINT */
		{ 1037, { OUT(2, 8) } }, /* F_GET_FILE_RW_HINT */
		{ 1038, { IN(2, 8) } },	 /* F_SET_FILE_RW_HINT */
	};
	uint64_t number = planner->call->args[1];

	if (number != 7 && number != 38)
		planner->plan->flags &= ~(unsigned)CALL_BLOCKS;
	/* All other commands take numbers, or nothing. */
	rule_command(planner, rows, ARRAY_SIZE(rows), number);
}
