/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>

#include "tracer/fault.h"
#include "tracer/process/mem.h"

bool fault_allowed(struct session *session, uint64_t addr, uint64_t size,
		   int prot)
{
	uint64_t end = addr + size;

	while (addr < end) {
		int ours = guard_prot(&session->guard, addr);
		const struct range *range;
		const struct mapping *m;

		if (ours >= 0) {
			range = ranges_find(&session->guard.pages, addr);
			if ((ours & prot) != prot)
				return false;
			addr = range->end;
			continue;
		}
		if (process_remap(session->process) < 0)
			return false;
		m = maps_find(session->process->maps, addr);
		if (!m || (m->prot & prot) != prot)
			return false;
		addr = min_u64(m->end, page_down(addr) + PAGE);
	}
	return true;
}

static int read_allowed(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct session *session = context;
	int r = 0;

	if (!fault_allowed(session, addr, size, PROT_READ))
		return -EFAULT;
	if (guard_closed(&session->guard, addr, addr + size) ||
	    !mem_read_open(session->process->proc, addr, buffer, size))
		r = mem_read(session->process->mem, addr, buffer, size);
	if (r == 0)
		survival_read(&session->process->survival, addr, buffer, size);
	return r;
}

/* Nothing that is written there can fail. */
static bool is_private_anonymous(const struct session *session, uint64_t addr)
{
	const struct mapping *m = maps_find(session->process->maps, addr);

	return m && !m->shared && !m->inode;
}

/*
 * Will the page at @addr take a store?  Behind the end of its file nothing is
 * even read.  A closed page of shared memory takes nothing that is forced upon
 * it: what is there is written as it is, for nobody else writes there.
 */
static int probe(const struct session *session, uint64_t addr)
{
	int mem = session->process->mem, r;
	uint8_t byte;

	if (is_private_anonymous(session, addr))
		return 0;
	r = mem_read(mem, addr, &byte, 1);
	if (r == 0 && guard_closed(&session->guard, addr, addr + 1))
		r = mem_write(mem, addr, &byte, 1);
	return r;
}

/*
 * All or nothing: a page that takes no store must say so before anything is
 * written in front of it.
 */
static int write_allowed(void *context, uint64_t addr, const void *buffer,
			 size_t size)
{
	struct session *session = context;
	int r = 0;

	if (!fault_allowed(session, addr, size, PROT_WRITE))
		return -EFAULT;
	for (uint64_t page = page_down(addr) + PAGE;
	     r == 0 && page < addr + size; page += PAGE)
		r = probe(session, page);
	if (r < 0)
		return r;
	survival_write(&session->process->survival, addr, size);
	if (!guard_closed(&session->guard, addr, addr + size) &&
	    mem_write_open(session->process->proc, addr, buffer, size))
		return 0;
	return mem_write(session->process->mem, addr, buffer, size);
}

struct memory fault_memory(struct session *session)
{
	return (struct memory){
		.context = session,
		.read = read_allowed,
		.write = write_allowed,
	};
}
