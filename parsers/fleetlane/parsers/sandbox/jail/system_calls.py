"""The system calls that the jail speaks of, by number; each name with x86-64's and ARM's."""

import ctypes
import os
import platform
from typing import Final

PLAIN: Final = """
    read 0 63, write 1 64, futex 202 98, recvmsg 47 212, sendmsg 46 211, sendto 44 206,
    recvfrom 45 207, pread64 17 67, mmap 9 222, munmap 11 215, mremap 25 216, mprotect 10 226,
    madvise 28 233, brk 12 214, clock_gettime 228 113, gettimeofday 96 169, time 201 -,
    clock_getres 229 114, nanosleep 35 101, clock_nanosleep 230 115, setitimer 38 103,
    getitimer 36 102, alarm 37 -, times 100 153, getrusage 98 165, getdents64 217 61,
    getdents 78 -, close 3 57, lseek 8 62, stat 4 -, fstat 5 80, lstat 6 -,
    newfstatat 262 79, statx 332 291, access 21 -, faccessat 269 48, faccessat2 439 439,
    readlink 89 -, readlinkat 267 78, getcwd 79 17, chdir 80 49, fchdir 81 50, statfs 137 43,
    fstatfs 138 44, umask 95 166, readv 19 65, writev 20 66, pwrite64 18 68, preadv 295 69,
    pwritev 296 70, preadv2 327 286, pwritev2 328 287, fsync 74 82, fdatasync 75 83,
    fadvise64 221 223, readahead 187 213, sendfile 40 71, copy_file_range 326 285, dup 32 23,
    dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59, poll 7 -, ppoll 271 73, select 23 -,
    pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
    epoll_pwait 281 22, epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19, msync 26 227,
    mincore 27 232, membarrier 324 283, set_robust_list 273 99, rseq 334 293,
    set_tid_address 218 96, sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121,
    sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126,
    getcpu 309 168, arch_prctl 158 -, exit 60 93, exit_group 231 94, rt_sigaction 13 134,
    rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigtimedwait 128 137,
    rt_sigsuspend 130 133, sigaltstack 131 132, pause 34 -, restart_syscall 219 128,
    gettid 186 178, getpid 39 172, getppid 110 173, getuid 102 174, geteuid 107 175,
    getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158,
    getpgrp 111 -, getpgid 121 155, getsid 124 156, uname 63 160, sysinfo 99 179,
    getrandom 318 278, getpriority 140 141, getrlimit 97 163, setrlimit 160 164, capget 125 90
"""
"""What the interpreter, numpy, Arrow and the like use on their own process, and nothing else. Not
``close_range``: it can give a thread open files of its own."""

WRITING: Final = """
    ftruncate 77 46, unlink 87 -, unlinkat 263 35, rename 82 -, renameat 264 38,
    renameat2 316 276, mkdir 83 -, mkdirat 258 34, rmdir 84 -
"""
"""What changes files below a path; where Landlock is, it says which. Not ``fallocate``: it takes
space that a file's size does not show."""

CHECKED: Final = """
    open 2 -, openat 257 56, clone 56 220, kill 62 129, tkill 200 130, tgkill 234 131, fcntl 72 25,
    ioctl 16 29, prctl 157 167, prlimit64 302 261, sched_setaffinity 203 122, capset 126 91,
    seccomp 317 277,
    landlock_create_ruleset 444 444, landlock_add_rule 445 445, landlock_restrict_self 446 446
"""
"""Allowed with some arguments, or until the jail is shut."""

AUDIT_ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_libc: Final = ctypes.CDLL(None, use_errno=True)
_COLUMNS: Final = {"x86_64": 1, "aarch64": 2}


def numbers(text: str) -> dict[str, int]:
    """The numbers of calls on this machine. Some it does not have; an unknown machine has none."""
    rows = (row.split() for row in text.split(","))
    column = _COLUMNS.get(platform.machine())
    return {row[0]: int(row[column]) for row in rows if column and row[column] != "-"}


def called(name: str, *arguments: object) -> int:
    """Make one of the checked calls; raises ``OSError`` where the kernel lacks or refuses it."""
    number = numbers(CHECKED).get(name)
    if number is None:
        raise OSError(os.strerror(38), platform.machine())
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    return result


def prctl(operation: int, argument: int) -> None:
    """Change a property of this process; raises ``OSError`` where the kernel refuses."""
    if _libc.prctl(operation, ctypes.c_ulong(argument), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "prctl")
