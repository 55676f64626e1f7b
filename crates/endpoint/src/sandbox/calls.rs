//! System calls, by seccomp: those that no server needs fail with EPERM. A list of what is denied and not of what is allowed, so that
//! another C library, kernel or architecture breaks no measurement.
//!
//! Written for the kernel's own filter language, and not by a crate: the numbers of x32 have to be refused as well, which a list of
//! what is denied would let pass.

use std::io;

use libc::{c_long, sock_filter};

/// Architecture it is compiled for, in the number that the kernel passes to a filter (linux/audit.h).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// Calls of x32 have this bit, and are those of x86-64 otherwise.
const X32: u32 = 0x4000_0000;

/// Offsets at which a filter finds the number, the architecture and the low half of an argument (struct `seccomp_data`;
/// both are little-endian).
const NUMBER: u32 = 0;
const CALLER: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// Denied whatever their arguments.
const DENIED: &[c_long] = &[
    // Other programs, and what belongs to other processes.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Owner and permissions of a file, which Landlock does not restrict; files by number.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    // Large parts of the kernel that a server has no use for; rings, whose calls no filter sees.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_memfd_create,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_personality,
    libc::SYS_vhangup,
];

/// Those that x86-64 has besides.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

// The same on all architectures (asm-generic/unistd.h); the C library's bindings have no names for them.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;

const ALLOW: sock_filter = end(libc::SECCOMP_RET_ALLOW);
const DENY: sock_filter = end(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
/// The C library then asks by `clone`, whose flags a filter sees.
const UNKNOWN: sock_filter = end(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);

/// Has the kernel refuse these calls of the calling thread, and of those that it starts, for good.
pub(super) fn filter() -> io::Result<()> {
    let Some(architecture) = ARCHITECTURE else { return Err(io::ErrorKind::Unsupported.into()) };
    let mut program = program(architecture, std::process::id());
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // Kernels before 5.16 otherwise slow every filtered thread down against speculation, which would be measured as well; no code of
    // others runs in here.
    let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: `filter` and the program that it points to live through the call, which copies both.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn program(architecture: u32, own: u32) -> Vec<sock_filter> {
    let mut program = vec![load(CALLER), unless_equal(architecture, 1), skip(1), DENY, load(NUMBER)];
    if cfg!(target_arch = "x86_64") {
        program.extend([jump(libc::BPF_JGE, X32, 0, 1), DENY]);
    }
    for number in [DENIED, OLDER].concat() {
        program.extend(of(number, &[DENY]));
    }
    let thread = libc::CLONE_THREAD as u32;
    let (write, execute) = (libc::PROT_WRITE as u32, libc::PROT_EXEC as u32);
    program.extend(of(libc::SYS_clone3, &[UNKNOWN]));
    // Threads, but no processes.
    program.extend(of(libc::SYS_clone, &[load(argument(0)), jump(libc::BPF_JSET, thread, 0, 1), ALLOW, DENY]));
    // Nothing that was written is run.
    for number in [libc::SYS_mprotect, libc::SYS_pkey_mprotect] {
        program.extend(of(number, &[load(argument(2)), jump(libc::BPF_JSET, execute, 0, 1), DENY, ALLOW]));
    }
    let both = [jump(libc::BPF_JSET, execute, 0, 2), jump(libc::BPF_JSET, write, 0, 1), DENY, ALLOW];
    program.extend(of(libc::SYS_mmap, &[&[load(argument(2))], &both[..]].concat()));
    // Nothing of other processes is changed.
    for number in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
        program.extend(of(number, &[load(argument(0)), unless_equal(0, 1), ALLOW, DENY]));
    }
    program.extend(of(libc::SYS_tgkill, &[load(argument(0)), unless_equal(own, 1), ALLOW, DENY]));
    let families = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK];
    let family = families.map(|family| [unless_equal(family as u32, 1), ALLOW]).concat();
    program.extend(of(libc::SYS_socket, &[&[load(argument(0))], &family[..], &[DENY]].concat()));
    // Nothing is typed into the terminal that it was started from.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| [unless_equal(request as u32, 1), DENY]).concat();
    program.extend(of(libc::SYS_ioctl, &[&[load(argument(1))], &typing[..], &[ALLOW]].concat()));
    program.push(ALLOW);
    program
}

/// Instructions that run for a call of this number, while the number is loaded.
fn of(number: c_long, then: &[sock_filter]) -> Vec<sock_filter> {
    [&[unless_equal(number as u32, then.len() as u8)], then].concat()
}

const fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

/// Leaves out `count` instructions unless what is loaded is `value`.
const fn unless_equal(value: u32, count: u8) -> sock_filter {
    jump(libc::BPF_JEQ, value, 0, count)
}

const fn skip(count: u32) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JA, 0, 0, count)
}

const fn jump(condition: u32, value: u32, when: u8, otherwise: u8) -> sock_filter {
    instruction(libc::BPF_JMP | condition | libc::BPF_K, when, otherwise, value)
}

const fn end(action: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, action)
}

const fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}
