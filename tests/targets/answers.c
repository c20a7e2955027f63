/* SPDX-License-Identifier: Apache-2.0 */
/* watch: counter */
/* A filter of the program's own answers a call with EINTR, each time. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/target.h"

static volatile long counter;

int main(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINTR),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter),
				      filter };

	counter++;
	expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	for (int i = 0; i < 3; i++) {
		expect(syscall(SYS_getppid) == -1 && errno == EINTR);
		counter++;
	}
	printf("%ld\n", counter);
	return 0;
}
