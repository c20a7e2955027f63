/* SPDX-License-Identifier: Apache-2.0 */
#include <asm/perf_regs.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/process/perf.h"

/* Of registers, in the order in which the kernel writes them. */
static const struct {
	int bit;
	size_t offset;
} saved[] = {
#define SAVED(bit, name)                                                       \
	{                                                                      \
		bit, offsetof(struct user_regs_struct, name)                   \
	}
	SAVED(PERF_REG_X86_AX, rax),  SAVED(PERF_REG_X86_BX, rbx),
	SAVED(PERF_REG_X86_CX, rcx),  SAVED(PERF_REG_X86_DX, rdx),
	SAVED(PERF_REG_X86_SI, rsi),  SAVED(PERF_REG_X86_DI, rdi),
	SAVED(PERF_REG_X86_BP, rbp),  SAVED(PERF_REG_X86_SP, rsp),
	SAVED(PERF_REG_X86_IP, rip),  SAVED(PERF_REG_X86_R8, r8),
	SAVED(PERF_REG_X86_R9, r9),   SAVED(PERF_REG_X86_R10, r10),
	SAVED(PERF_REG_X86_R11, r11), SAVED(PERF_REG_X86_R12, r12),
	SAVED(PERF_REG_X86_R13, r13), SAVED(PERF_REG_X86_R14, r14),
	SAVED(PERF_REG_X86_R15, r15),
#undef SAVED
};

enum {
	REGISTERS = sizeof(saved) / sizeof(*saved),
	SWITCH_SIZE = PAGE,
	FIXED = 24 + 8 * REGISTERS /* of a sample, before its stack */
};

/* A record of the kernel's: what we ask for, in its order. */
struct fixed {
	struct perf_event_header header;
	uint64_t time;
	uint64_t abi; /* 0: it has no registers */
	uint64_t registers[REGISTERS];
};
_Static_assert(sizeof(struct fixed) == FIXED, "as the kernel has it");

struct ring {
	int fd;
	size_t size;
	struct perf_event_mmap_page *page; /* its bytes are in the next ones */
};

struct perf {
	struct ring clock, switches;
	int where; /* /proc/TID/syscall */
	uint64_t lost;
	bool mapped;
	char record[1 << 16]; /* the one that was read last, in one piece */
};

static int open_event(struct perf_event_attr *attr, pid_t tid)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, -1, -1,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static struct perf_event_attr attributes(uint64_t event)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER,
		.use_clockid = 1,
		.clockid = CLOCK_REALTIME,
	};

	for (size_t i = 0; i < REGISTERS; i++)
		attr.sample_regs_user |= UINT64_C(1) << saved[i].bit;
	return attr;
}

static struct perf_event_attr by_clock(double hz)
{
	struct perf_event_attr attr = attributes(PERF_COUNT_SW_CPU_CLOCK);

	attr.sample_type |= PERF_SAMPLE_STACK_USER;
	attr.sample_stack_user = PERF_STACK;
	attr.sample_period = perf_period(hz);
	attr.mmap = 1;
	return attr;
}

static struct perf_event_attr by_switch(void)
{
	struct perf_event_attr attr =
		attributes(PERF_COUNT_SW_CONTEXT_SWITCHES);

	attr.sample_period = 1;
	attr.write_backward = 1; /* the last one is the first */
	return attr;
}

int perf_allowed(struct error *err)
{
	struct perf_event_attr attr = by_switch();
	int fd = open_event(&attr, 0);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	return error_set(err, fd,
			 "-F: perf_event_open(2) is not allowed here (%s); "
			 "root may, or others where the sysctl "
			 "kernel.perf_event_paranoid is 1 or lower and no "
			 "container forbids it",
			 strerror(-fd));
}

static int open_ring(struct ring *ring, struct perf_event_attr *attr, pid_t tid,
		     size_t size)
{
	/* Read only, it is written round and round. */
	int prot = PROT_READ | (attr->write_backward ? 0 : PROT_WRITE);
	void *at;

	ring->fd = open_event(attr, tid);
	if (ring->fd < 0)
		return ring->fd;
	at = mmap(NULL, PAGE + size, prot, MAP_SHARED, ring->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	ring->page = at;
	ring->size = size;
	return 0;
}

static void close_ring(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, PAGE + ring->size);
	closep(&ring->fd);
}

int perf_new(pid_t tid, double hz, size_t room, struct perf **ret)
{
	struct perf_event_attr clock = by_clock(hz), switches = by_switch();
	struct perf *perf = calloc(1, sizeof(*perf));
	char path[48];
	int r;

	if (!perf)
		return -ENOMEM;
	perf->clock.fd = perf->switches.fd = -1;
	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	perf->where = open(path, O_RDONLY | O_CLOEXEC);
	r = perf->where < 0 ? -errno : 0;
	if (r == 0)
		r = open_ring(&perf->clock, &clock, tid, room);
	if (r == 0)
		r = open_ring(&perf->switches, &switches, tid, SWITCH_SIZE);
	if (r < 0)
		perf_free(perf);
	else
		*ret = perf;
	return r;
}

void perf_free(struct perf *perf)
{
	if (!perf)
		return;
	close_ring(&perf->clock);
	close_ring(&perf->switches);
	closep(&perf->where);
	free(perf);
}

void perf_pause(struct perf *perf, bool pause)
{
	if (perf)
		ioctl(perf->clock.fd,
		      pause ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE,
		      0);
}

/* @size bytes that begin @at bytes into all that was ever written. */
static void copy_out(const struct ring *ring, uint64_t at, void *to,
		     size_t size)
{
	const char *bytes = (const char *)ring->page + PAGE;
	size_t start = (size_t)(at & (ring->size - 1));
	size_t first = (size_t)min_u64(size, ring->size - start);

	memcpy(to, bytes + start, first);
	memcpy((char *)to + first, bytes, size - first);
}

/* The next record into perf->record.  Its type; 0: there is none. */
static uint32_t read_record(struct perf *perf)
{
	struct perf_event_mmap_page *page = perf->clock.page;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header header;

	if (page->data_tail == head)
		return 0;
	copy_out(&perf->clock, page->data_tail, &header, sizeof(header));
	copy_out(&perf->clock, page->data_tail, perf->record, header.size);
	__atomic_store_n(&page->data_tail, page->data_tail + header.size,
			 __ATOMIC_RELEASE);
	return header.type;
}

static void set_registers(const struct fixed *fixed,
			  struct user_regs_struct *regs)
{
	*regs = (struct user_regs_struct){ 0 };
	for (size_t i = 0; i < REGISTERS; i++)
		memcpy((char *)regs + saved[i].offset, &fixed->registers[i],
		       sizeof(uint64_t));
}

/* After the registers: the size asked for, the bytes, how many are right. */
static bool take_sample(const struct perf *perf, struct perf_sample *ret)
{
	const char *at = perf->record + sizeof(struct fixed);
	struct fixed fixed;
	uint64_t room, size = 0;

	memcpy(&fixed, perf->record, sizeof(fixed));
	if (fixed.abi != PERF_SAMPLE_REGS_ABI_64)
		return false;
	memcpy(&room, at, sizeof(room));
	if (room)
		memcpy(&size, at + sizeof(room) + room, sizeof(size));
	set_registers(&fixed, &ret->regs);
	ret->time.tv_sec = (time_t)(fixed.time / 1000000000);
	ret->time.tv_nsec = (long)(fixed.time % 1000000000);
	ret->stack = at + sizeof(room);
	ret->size = (size_t)size;
	return true;
}

int perf_next(struct perf *perf, struct perf_sample *ret)
{
	struct {
		struct perf_event_header header;
		uint64_t id, count;
	} lost;
	uint32_t type;

	while ((type = read_record(perf))) {
		switch (type) {
		case PERF_RECORD_SAMPLE:
			if (take_sample(perf, ret))
				return 1;
			perf->lost++;
			break;
		case PERF_RECORD_LOST:
			memcpy(&lost, perf->record, sizeof(lost));
			perf->lost += lost.count;
			break;
		case PERF_RECORD_MMAP:
			perf->mapped = true;
			break;
		default:
			break;
		}
	}
	return 0;
}

uint64_t perf_lost(struct perf *perf)
{
	uint64_t lost = perf->lost;

	perf->lost = 0;
	return lost;
}

bool perf_mapped(struct perf *perf)
{
	bool mapped = perf->mapped;

	perf->mapped = false;
	return mapped;
}

/* With what it was switched away from last. */
static int switched(const struct perf *perf, struct perf_sleep *ret)
{
	const struct perf_event_mmap_page *page = perf->switches.page;
	struct fixed fixed;
	uint64_t head;

	/* Written meanwhile: it was switched away from once more. */
	do {
		head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
		if (!head)
			return -ENODATA;
		copy_out(&perf->switches, head, &fixed, sizeof(fixed));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) != head);
	if (fixed.header.type != PERF_RECORD_SAMPLE ||
	    fixed.abi != PERF_SAMPLE_REGS_ABI_64)
		return -ENODATA;
	set_registers(&fixed, &ret->regs);
	ret->turn = head;
	return 0;
}

int perf_asleep(const struct perf *perf, struct perf_sleep *ret)
{
	char line[256], *at;
	ssize_t size = pread(perf->where, line, sizeof(line) - 1, 0);
	uint64_t place[2] = { 0 }; /* rip, rsp */

	/* "running", or the call, its arguments, and the two. */
	if (size <= 0)
		return 0;
	line[size] = '\0';
	ret->call = strtol(line, &at, 10);
	if (at == line)
		return 0;
	for (int i = 0; i < 2; i++) {
		at = strrchr(line, ' ');
		if (!at)
			return 0;
		place[i] = strtoull(at, NULL, 16);
		*at = '\0';
	}
	if (switched(perf, ret) < 0 || ret->regs.rip != place[0] ||
	    ret->regs.rsp != place[1])
		return -ENODATA;
	return 1;
}
