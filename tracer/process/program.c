/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "tracer/process/permission.h"
#include "tracer/process/program.h"

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !eaccess(path, X_OK);
}

/* As execvp(3): the first that can be executed, else the first that is. */
static int search(const char *name, char ret[PATH_MAX])
{
	const char *dir = getenv("PATH");
	char path[PATH_MAX];
	bool found = false;

	for (dir = dir ? dir : "/bin:/usr/bin"; dir; dir = strchr(dir, ':')) {
		int length;

		dir += *dir == ':';
		length = (int)strcspn(dir, ":");
		if (snprintf(path, sizeof(path), "%.*s/%s", length ? length : 1,
			     length ? dir : ".", name) >= (int)sizeof(path))
			continue;
		if (is_executable(path)) {
			strcpy(ret, path);
			return 0;
		}
		if (!found && !access(path, F_OK)) {
			strcpy(ret, path);
			found = true;
		}
	}
	return found ? 0 : -ENOENT;
}

static int not_found(const char *name, struct error *err)
{
	if (!access(name, F_OK))
		return error_set(err, PERMISSION_NOT_FOUND,
				 "there is no program %s in PATH: for the file "
				 "here write ./%s",
				 name, name);
	return error_set(err, PERMISSION_NOT_FOUND,
			 "there is no program %s in PATH", name);
}

static int no_file(const char *path, int number, struct error *err)
{
	if (number == EACCES)
		return error_set(err, PERMISSION_NOT_EXECUTABLE,
				 "%s cannot be reached: a directory above it "
				 "is not yours to search",
				 path);
	if (number == ENOENT || number == ENOTDIR)
		return error_set(err, PERMISSION_NOT_FOUND,
				 "there is no program %s", path);
	return error_set(err, PERMISSION_NOT_FOUND, "%s: %s", path,
			 strerror(number));
}

const char *program_unsuitable(int fd)
{
	Elf64_Ehdr header;
	ssize_t size;

	/* e_machine is at the same place in files of both classes */
	size = pread(fd, &header, sizeof(header), 0);
	if (size < (ssize_t)offsetof(Elf64_Ehdr, e_version) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG))
		return NULL;
	if (header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (header.e_machine != EM_X86_64 && header.e_machine != EM_386))
		return "is for another processor";
	if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_machine != EM_X86_64)
		return "is a 32-bit program";
	return NULL;
}

static int check_content(const char *path, struct error *err)
{
	_cleanup_(closep) int fd = -1;
	const char *why;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_set(err, PERMISSION_NOT_EXECUTABLE,
				 "%s cannot be read (%s), and the kernel lets "
				 "nobody trace a program that he cannot read: "
				 "chmod +r it, or run this as root",
				 path, strerror(errno));
	why = program_unsuitable(fd);
	if (why)
		return error_set(err, PERMISSION_UNSUITABLE,
				 "%s %s: only 64-bit x86-64 programs can be "
				 "traced",
				 path, why);
	return 0;
}

int permission_check_program(const char *name, struct error *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (!*name)
		return error_set(err, PERMISSION_NOT_FOUND,
				 "the program's name is empty");
	if (strlen(name) >= sizeof(path))
		return no_file(name, ENAMETOOLONG, err);
	if (strchr(name, '/'))
		strcpy(path, name);
	else if (search(name, path) < 0)
		return not_found(name, err);

	if (stat(path, &st) < 0)
		return no_file(path, errno, err);
	if (S_ISDIR(st.st_mode))
		return error_set(err, PERMISSION_NOT_EXECUTABLE,
				 "%s is a directory, not a program", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, PERMISSION_NOT_EXECUTABLE,
				 "%s is not a regular file", path);
	if (eaccess(path, X_OK) < 0)
		return error_set(err, PERMISSION_NOT_EXECUTABLE,
				 "%s is not executable for you: chmod +x it "
				 "(or its file system is mounted noexec)",
				 path);
	return check_content(path, err);
}
