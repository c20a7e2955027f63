/* SPDX-License-Identifier: Apache-2.0 */
/* A library with thread-local variables, for tls.cc. */

__thread long late[600] = { 1 };
static __thread int hidden = 2;

void *late_place(void)
{
	return late;
}

void *hidden_place(void)
{
	return &hidden;
}
