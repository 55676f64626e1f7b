//! A packet socket whose packets the kernel copies into memory that it shares with us: `TPACKET_V3` of packet(7).
//!
//! The memory is a ring of blocks. A block is the kernel's until it is full, or until it has held packets for a few
//! milliseconds; then it is ours until we give it back. The kernel drops packets for which no block is free, and counts
//! them.
//!
//! Layout of blocks and packets: `linux/if_packet.h` and `Documentation/networking/packet_mmap`.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, socklen_t};
use measure::unit::Nanos;
use protocol::capture::filter::Instruction;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use socket2::{Domain, SockFilter, Socket, Type};

use crate::clock::Monotonic;
use crate::link::clockwork::poll_one;

/// Bytes of a block: some thousands of beginnings of packets.
const BLOCK: usize = 1 << 20;
/// Number of blocks: they hold a third of a second at a million packets a second. Fewer where the kernel has no memory
/// for them.
const BLOCKS: [usize; 3] = [32, 8, 2];
/// Milliseconds after which a block that holds packets is handed over.
const RETIRE_MS: u32 = 10;
/// The kernel wants a size of frames even where packets lie one behind the other.
const FRAME: usize = 2_048;

/// The socket and its memory.
#[derive(Debug)]
pub struct Ring {
    socket: Socket,
    memory: NonNull<c_void>,
    blocks: usize,
    next: usize,
}

// SAFETY: the memory belongs to this ring alone, and is reached through it alone: it may be used by one thread after
// another.
unsafe impl Send for Ring {}

/// A packet as the kernel handed it over.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Time of the capture, nanoseconds since 1970.
    pub at_ns: u64,
    /// True where this host sent it.
    pub outgoing: bool,
    /// Index of the interface.
    pub interface: u32,
    /// Kind of the interface, by ARP's numbers.
    pub hardware: u16,
    /// Its length, bytes of IP.
    pub length: u32,
    /// Its beginning.
    pub kept: &'a [u8],
}

/// Kernel's counters of the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Packets that it put into the ring.
    pub taken: u64,
    /// Packets that it had no room for.
    pub dropped: u64,
}

impl Ring {
    /// Opens the socket and lets packets in that `program` lets pass, those of all interfaces.
    pub fn open(program: &[Instruction]) -> io::Result<Self> {
        // A socket of no protocol receives nothing, until it is bound with its filter and its memory in place.
        let socket = Socket::new(Domain::from(libc::AF_PACKET), Type::DGRAM, None)?;
        let program: Vec<SockFilter> =
            program.iter().map(|step| SockFilter::new(step.code, step.then, step.otherwise, step.operand)).collect();
        socket.attach_filter(&program)?;
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as c_int))?;
        let blocks = share(&socket)?;
        // SAFETY: a new mapping of the kernel's choosing touches no memory of ours; its length is what the socket was
        // asked for.
        let memory = unsafe {
            let (length, flags) = (blocks * BLOCK, MapFlags::SHARED);
            mmap(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags, &socket, 0)?
        };
        let memory = NonNull::new(memory).ok_or(io::ErrorKind::OutOfMemory)?;
        let ring = Self { socket, memory, blocks, next: 0 };
        ring.let_in()?;
        Ok(ring)
    }

    /// Binds to all protocols on all interfaces: from here on packets come.
    fn let_in(&self) -> io::Result<()> {
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
            sll_ifindex: 0,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: the pointer and the length describe an address that lives through the call.
        let result = unsafe {
            let length = size_of_val(&address) as socklen_t;
            libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Hands each packet of the next block to `each`, and gives the block back. `false`: none is ours at present.
    pub fn block(&mut self, each: &mut dyn FnMut(Packet<'_>)) -> bool {
        // SAFETY: `next` is below the number of blocks, so all of this block lies within the mapping.
        let start = unsafe { self.memory.cast::<u8>().add(self.next * BLOCK) };
        // SAFETY: the status is an aligned word within the block; the kernel and we agree through it on whose the block
        // is, and both use it as an atomic.
        let status = unsafe { AtomicU32::from_ptr(start.add(STATUS).cast().as_ptr()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the block is ours until the status is cleared below, and the kernel writes nothing into it meanwhile. The
        // slice does not outlive that.
        packets(unsafe { std::slice::from_raw_parts(start.as_ptr(), BLOCK) }, each);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        true
    }

    /// Waits until a block is ours, or for `patience`.
    pub fn wait(&self, patience: Nanos) {
        poll_one(self.socket.as_fd(), false, Monotonic::now().after(patience));
    }

    /// Reads the kernel's counters since the ring was opened. Call it once: reading resets them.
    pub fn counted(&self) -> Counted {
        let mut told = [0_u32; 3];
        let mut length = size_of_val(&told) as socklen_t;
        // SAFETY: the pointer and the length describe an array that lives through the call; three words are what the third
        // version tells (packets, those dropped included; dropped; times it was full).
        let result = unsafe {
            let (fd, told) = (self.socket.as_raw_fd(), told.as_mut_ptr().cast());
            libc::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, told, &raw mut length)
        };
        if result != 0 {
            return Counted::default();
        }
        let [all, dropped, _] = told.map(u64::from);
        Counted { taken: all.saturating_sub(dropped), dropped }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open` with this length, and no slice of it is left.
        let _unmapped = unsafe { munmap(self.memory.as_ptr(), self.blocks * BLOCK) };
    }
}

/// Asks for the memory; how many blocks there are.
fn share(socket: &Socket) -> io::Result<usize> {
    let mut refused = io::Error::from(io::ErrorKind::OutOfMemory);
    for blocks in BLOCKS {
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (BLOCK / FRAME * blocks) as u32,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        match set(socket, libc::PACKET_RX_RING, &request) {
            Ok(()) => return Ok(blocks),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn set<T>(socket: &Socket, option: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, which lives through the call.
    let result = unsafe {
        let (value, length) = (std::ptr::from_ref(value).cast(), size_of::<T>() as socklen_t);
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, value, length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Offsets in a block: its status, the number of its packets, and the first of them.
const STATUS: usize = 8;
const COUNT: usize = 12;
const FIRST: usize = 16;
/// Offsets in a packet: the distance to the next, its time, the lengths kept and in all, and its start.
const TO_NEXT: usize = 0;
const SECONDS: usize = 4;
const WITHIN: usize = 8;
const KEPT: usize = 12;
const LENGTH: usize = 16;
const BEGINS: usize = 24;
/// Behind that stands the address of its link: interface, kind of the interface, which way.
const INTERFACE: usize = 48 + 4;
const HARDWARE: usize = 48 + 8;
const WAY: usize = 48 + 10;

/// Passes each packet of a block on. A packet that does not lie within the block, which the kernel never writes, ends
/// it.
fn packets(block: &[u8], each: &mut dyn FnMut(Packet<'_>)) {
    let (Some(count), Some(first)) = (word(block, COUNT), word(block, FIRST)) else { return };
    let mut at = first as usize;
    for _ in 0..count {
        let Some((packet, next)) = block.get(at..).and_then(packet) else { return };
        each(packet);
        at += next;
    }
}

fn packet(bytes: &[u8]) -> Option<(Packet<'_>, usize)> {
    let begins = usize::from(half(bytes, BEGINS)?);
    let kept = bytes.get(begins..begins.checked_add(word(bytes, KEPT)? as usize)?)?;
    let packet = Packet {
        at_ns: u64::from(word(bytes, SECONDS)?) * 1_000_000_000 + u64::from(word(bytes, WITHIN)?),
        outgoing: *bytes.get(WAY)? == libc::PACKET_OUTGOING,
        interface: word(bytes, INTERFACE)?,
        hardware: half(bytes, HARDWARE)?,
        length: word(bytes, LENGTH)?,
        kept,
    };
    Some((packet, word(bytes, TO_NEXT)? as usize))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of these packets, as the kernel writes it.
    fn block(of: &[(u32, u8, &[u8])]) -> Vec<u8> {
        let mut block = vec![0; 48];
        block[COUNT..COUNT + 4].copy_from_slice(&(of.len() as u32).to_ne_bytes());
        block[FIRST..FIRST + 4].copy_from_slice(&48_u32.to_ne_bytes());
        for (interface, way, kept) in of {
            let mut packet = vec![0; 82];
            let mut put = |at: usize, word: u32| packet[at..at + 4].copy_from_slice(&word.to_ne_bytes());
            put(SECONDS, 7);
            put(WITHIN, 9);
            put(KEPT, kept.len() as u32);
            put(LENGTH, 1_500);
            put(INTERFACE, *interface);
            let next = (82 + kept.len()).next_multiple_of(16);
            put(TO_NEXT, next as u32);
            packet[BEGINS..BEGINS + 2].copy_from_slice(&82_u16.to_ne_bytes());
            packet[WAY] = *way;
            packet.extend(*kept);
            packet.resize(next, 0);
            block.extend(packet);
        }
        block
    }

    fn read(block: &[u8]) -> Vec<(u64, bool, u32, u32, Vec<u8>)> {
        let mut seen = Vec::new();
        packets(block, &mut |packet| {
            let Packet { at_ns, outgoing, interface, length, kept, .. } = packet;
            seen.push((at_ns, outgoing, interface, length, kept.to_vec()));
        });
        seen
    }

    #[test]
    fn a_block_is_read_packet_by_packet() {
        let block = block(&[(4, 4, b"first"), (1, 0, b"second one")]);
        let at = 7_000_000_009;
        let expected = [(at, true, 4, 1_500, b"first".to_vec()), (at, false, 1, 1_500, b"second one".to_vec())];
        assert_eq!(read(&block), expected);
    }

    #[test]
    fn what_lies_outside_the_block_is_not_read() {
        let whole = block(&[(4, 4, b"first"), (1, 0, b"second one")]);
        for cut in 0..whole.len() {
            assert!(read(&whole[..cut]).len() <= 2);
        }
        let mut nonsense = whole.clone();
        nonsense[48 + KEPT..48 + KEPT + 4].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(read(&nonsense), []);
        let mut for_ever = whole;
        for_ever[48..52].copy_from_slice(&0_u32.to_ne_bytes());
        for_ever[COUNT..COUNT + 4].copy_from_slice(&40_u32.to_ne_bytes());
        assert_eq!(read(&for_ever).len(), 40, "no more than it says");
    }
}
