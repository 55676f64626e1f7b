//! A TUN device: an interface whose packets a program reads and writes. Structures: `include/uapi/linux/if_tun.h`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use socket2::{Domain, Socket, Type};

use super::End;
use crate::error::{EndpointError, Step};

/// Packets that wait for the relay: while it is kept from its processor none is lost.
const QUEUE: libc::c_int = 10_000;

/// An interface that is up; it goes with this value.
#[derive(Debug)]
pub(super) struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// Makes the interface of `end`, whose neighbour on the link is `peer`.
    pub(super) fn open(end: &End, peer: Ipv4Addr) -> Result<Self, EndpointError> {
        let name = end.interface.clone();
        // A separate thread enters the namespace and ends in it: ours stays where it is.
        let made = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                if let Some(namespace) = &end.namespace {
                    enter(namespace)
                        .map_err(|cause| EndpointError::new(Step::EnterNamespace, namespace.display(), cause))?;
                }
                make(&end.interface, end.address, peer)
                    .map_err(|cause| EndpointError::new(Step::MakeInterface, &end.interface, cause))
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        Ok(Self { file: made?, name })
    }

    /// The next packet into `buffer`: its length; `None`: none waits.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, EndpointError> {
        match self.file.read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(EndpointError::new(Step::Forward, &self.name, error)),
        }
    }

    /// Hands a packet to the kernel; `false`: it did not take it, as where the interface was set down.
    pub(super) fn write(&mut self, packet: &[u8]) -> Result<bool, EndpointError> {
        match self.file.write(packet) {
            Ok(_) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EBADFD) => {
                Err(EndpointError::new(Step::Forward, &self.name, error))
            }
            Err(_) => Ok(false),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Nothing to read now; an interface that is down reads as `EIO` and may come up again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        || error.raw_os_error() == Some(libc::EIO)
}

/// The calling thread goes into a network namespace, for good.
fn enter(namespace: &Path) -> io::Result<()> {
    let file = File::open(namespace)?;
    Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Makes the interface in the calling thread's namespace, with its addresses, up.
fn make(name: &str, address: Ipv4Addr, peer: Ipv4Addr) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    ioctl(&file, libc::TUNSETIFF, &mut request)?;
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    request.ifr_ifru.ifru_addr = sockaddr(address);
    ioctl(&socket, libc::SIOCSIFADDR, &mut request)?;
    request.ifr_ifru.ifru_addr = sockaddr(peer);
    ioctl(&socket, libc::SIOCSIFDSTADDR, &mut request)?;
    request.ifr_ifru.ifru_metric = QUEUE;
    // The kernel asks for the capability over the whole machine here, and only here: in a user namespace its own length has to do.
    match ioctl(&socket, libc::SIOCSIFTXQLEN, &mut request) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
        _ => {}
    }
    let up = libc::IFF_UP | libc::IFF_RUNNING | libc::IFF_POINTOPOINT | libc::IFF_NOARP;
    request.ifr_ifru.ifru_flags = up as libc::c_short;
    ioctl(&socket, libc::SIOCSIFFLAGS, &mut request)?;
    Ok(file)
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: `ifreq` is a name and a union of integers and a pointer: all zeroes is a valid value of it.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // One octet of zero stays behind it.
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an interface's name has 1 to 15 bytes"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn sockaddr(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: `sockaddr` is integers: all zeroes is a valid value of it.
    let mut bare: libc::sockaddr = unsafe { mem::zeroed() };
    bare.sa_family = libc::AF_INET as libc::sa_family_t;
    // Behind the port, as `sockaddr_in` has it.
    for (to, from) in bare.sa_data[2..6].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    bare
}

fn ioctl(file: &impl AsRawFd, code: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the descriptor is open; `request` is a valid ifreq for reads and writes through the call, and none of the
    // codes used here makes the kernel follow a pointer in it.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), code, std::ptr::from_mut(request)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
