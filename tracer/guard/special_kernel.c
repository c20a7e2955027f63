/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/guard/special.h"
#include "tracer/guard/syscalls_table.h"

/*
 * A structure whose size is its own uint32_t at @offset.  The kernel refuses
 * more than a page, and for a size that it does not know it writes there the
 * one that it does.
 */
static void add_sized(struct planner *planner, unsigned arg, unsigned offset,
		      uint32_t least, uint8_t direction)
{
	uint64_t addr = planner->call->args[arg];
	uint32_t size;

	if (!addr || !plan_read(planner, addr + offset, &size, sizeof(size)))
		return;
	if (!size)
		size = least;
	size = (uint32_t)max_u64(size, offset + sizeof(size));
	plan_add_argument(planner, arg, min_u64(size, PAGE), direction);
}

void special_perf(struct planner *planner)
{
	add_sized(planner, 0, 4, 64, BUFFER_IN | BUFFER_OUT);
}

void special_sched_setattr(struct planner *planner)
{
	add_sized(planner, 1, 0, 48, BUFFER_IN | BUFFER_OUT);
}

/* struct mnt_id_req of statmount and listmount */
void special_request(struct planner *planner)
{
	add_sized(planner, 0, 0, SIZE_INT, BUFFER_IN);
}

void special_cap(struct planner *planner)
{
	enum {
		VERSION_1 = 0x19980330, /* one set of words; later two */
		SIZE_SET = 12,
	};
	uint64_t addr = planner->call->args[0];
	bool get = planner->call->number == __NR_capget;
	uint32_t version;

	/* For a version that it does not know it writes the one it does. */
	if (plan_add_argument(planner, 0, 8, BUFFER_IN | BUFFER_OUT) < 0 ||
	    !plan_read(planner, addr, &version, sizeof(version)))
		return;
	plan_add_argument(planner, 1,
			  version == VERSION_1 ? SIZE_SET : 2 * SIZE_SET,
			  get ? BUFFER_OUT : BUFFER_IN);
}

/*
 * The options of a file system: as a rule text, but the kernel copies a page
 * of it, or what there is before memory ends.
 */
void special_mount(struct planner *planner)
{
	uint64_t addr = planner->call->args[4];
	uint64_t size = page_down(addr) + PAGE - addr;
	char last;

	if (plan_read(planner, addr + PAGE - 1, &last, 1))
		size = PAGE;
	plan_add_argument(planner, 4, size, BUFFER_IN);
}

void special_fsconfig(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 0, { STR(2) } },		    /* FSCONFIG_SET_FLAG */
		{ 1, { STR(2), STR(3) } },	    /* FSCONFIG_SET_STRING */
		{ 2, { STR(2), IN_INT(3, 4, 1) } }, /* FSCONFIG_SET_BINARY */
		{ 3, { STR(2), STR(3) } },	    /* FSCONFIG_SET_PATH */
		{ 4, { STR(2), STR(3) } }, /* FSCONFIG_SET_PATH_EMPTY */
		{ 5, { STR(2) } },	   /* FSCONFIG_SET_FD */
	};

	rule_command(planner, rows, ARRAY_SIZE(rows), planner->call->args[1]);
}

void special_sysfs(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 1, { STR(1) } }, /* a file system's name to its index */
	};

	/* The other way: a buffer of which nobody tells the size. */
	if (planner->call->args[0] == 2)
		plan_suspect(planner, planner->call->args[2]);
	rule_command(planner, rows, ARRAY_SIZE(rows), planner->call->args[0]);
}

static void add_quota(struct planner *planner, uint64_t command)
{
	static const struct rule_command rows[] = {
		{ 0x800001, { { 0 } } },	    /* Q_SYNC */
		{ 0x800002, { STR(3) } },	    /* Q_QUOTAON */
		{ 0x800003, { { 0 } } },	    /* Q_QUOTAOFF */
		{ 0x800004, { OUT(3, SIZE_INT) } }, /* Q_GETFMT */
		{ 0x800005, { OUT(3, 24) } },	    /* Q_GETINFO */
		{ 0x800006, { IN(3, 24) } },	    /* Q_SETINFO */
		{ 0x800007, { MAYBE(3, 72) } },	    /* Q_GETQUOTA */
		{ 0x800008, { IN(3, 72) } },	    /* Q_SETQUOTA */
		{ 0x800009, { MAYBE(3, 72) } },	    /* Q_GETNEXTQUOTA */
	};

	/* The low byte is the kind of quota. */
	if (!rule_command(planner, rows, ARRAY_SIZE(rows),
			  (uint32_t)command >> 8))
		plan_suspect(planner, planner->call->args[3]);
}

void special_quotactl(struct planner *planner)
{
	add_quota(planner, planner->call->args[0]);
}

void special_quotactl_fd(struct planner *planner)
{
	add_quota(planner, planner->call->args[1]);
}

void special_keyctl(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 0, { { 0 } } },	    /* GET_KEYRING_ID */
		{ 1, { STR(1) } },	    /* JOIN_SESSION_KEYRING */
		{ 2, { IN_N(2, 3, 1) } },   /* UPDATE */
		{ 3, { { 0 } } },	    /* REVOKE */
		{ 4, { { 0 } } },	    /* CHOWN */
		{ 5, { { 0 } } },	    /* SETPERM */
		{ 6, { FITS(2, 3) } },	    /* DESCRIBE */
		{ 7, { { 0 } } },	    /* CLEAR */
		{ 8, { { 0 } } },	    /* LINK */
		{ 9, { { 0 } } },	    /* UNLINK */
		{ 10, { STR(2), STR(3) } }, /* SEARCH */
		{ 11, { FITS(2, 3) } },	    /* READ */
		{ 12, { IN_N(2, 3, 1) } },  /* INSTANTIATE */
		{ 13, { { 0 } } },	    /* NEGATE */
		{ 14, { { 0 } } },	    /* SET_REQKEY_KEYRING */
		{ 15, { { 0 } } },	    /* SET_TIMEOUT */
		{ 16, { { 0 } } },	    /* ASSUME_AUTHORITY */
		{ 17, { FILL(2, 3, 1) } },  /* GET_SECURITY */
		{ 18, { { 0 } } },	    /* SESSION_TO_PARENT */
		{ 19, { { 0 } } },	    /* REJECT */
		{ 21, { { 0 } } },	    /* INVALIDATE */
		{ 22, { { 0 } } },	    /* GET_PERSISTENT */
		{ 29, { STR(2), STR(3) } }, /* RESTRICT_KEYRING */
		{ 30, { { 0 } } },	    /* MOVE */
		{ 31, { ALL_N(1, 2, 1) } }, /* CAPABILITIES */
	};

	/* The public-key commands hold pointers in structures. */
	if (!rule_command(planner, rows, ARRAY_SIZE(rows),
			  planner->call->args[0]))
		planner->plan->kind = CALL_UNKNOWN;
}

/* Only these of its commands have a buffer. */
void special_syslog(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 2, { FILL_INT(1, 2, 1) } }, /* READ */
		{ 3, { FILL_INT(1, 2, 1) } }, /* READ_ALL */
		{ 4, { FILL_INT(1, 2, 1) } }, /* READ_CLEAR */
	};

	rule_command(planner, rows, ARRAY_SIZE(rows),
		     (uint32_t)planner->call->args[0]);
}

void special_landlock(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 1, { IN(2, 12) } }, /* LANDLOCK_RULE_PATH_BENEATH */
		{ 2, { IN(2, 16) } }, /* LANDLOCK_RULE_NET_PORT */
	};

	rule_command(planner, rows, ARRAY_SIZE(rows), planner->call->args[1]);
}

/* struct file_handle: the size of its bytes, a type, and the bytes. */
static void add_handle(struct planner *planner, unsigned arg, uint8_t direction)
{
	enum {
		HEADER = 8,
		LIMIT = 128, /* MAX_HANDLE_SZ */
	};
	uint32_t bytes;

	if (plan_read(planner, planner->call->args[arg], &bytes, 4))
		plan_add_argument(planner, arg, HEADER + min_u64(bytes, LIMIT),
				  direction);
}

void special_handle(struct planner *planner)
{
	/* AT_HANDLE_MNT_ID_UNIQUE: the mount is told by a longer number. */
	bool unique = planner->call->args[4] & 1;

	add_handle(planner, 2, BUFFER_IN | BUFFER_OUT);
	plan_add_argument(planner, 3, unique ? SIZE_LONG : SIZE_INT,
			  BUFFER_OUT);
}

void special_open_handle(struct planner *planner)
{
	add_handle(planner, 1, BUFFER_IN);
}

/* struct xattr_args: a pointer to the value, its size, flags. */
void special_xattrat(struct planner *planner)
{
	bool get = planner->call->number == __NR_getxattrat;
	struct {
		uint64_t value;
		uint32_t size, flags;
	} args;
	struct buffer_use use;
	int parent = plan_add_argument(
		planner, 4, min_u64(planner->call->args[5], PAGE), BUFFER_IN);

	if (parent < 0 ||
	    !plan_read(planner, planner->call->args[4], &args, sizeof(args)))
		return;
	use = plan_nested(parent, 0, args.value, plan_int(args.size),
			  get ? BUFFER_OUT : BUFFER_IN);
	if (get)
		use.written = WRITTEN_RESULT;
	plan_add(planner, &use);
}
