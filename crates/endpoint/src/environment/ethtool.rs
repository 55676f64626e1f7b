//! Facts of a card that its network driver reports by the `SIOCETHTOOL` ioctl: reading only, which needs no privilege.
//!
//! Structures: include/uapi/linux/ethtool.h. All of those used here are rows of 32-bit words, so they are read as such.

use std::io;
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

/// An interface that can be asked.
pub(super) struct Card {
    socket: Socket,
    name: [libc::c_char; libc::IFNAMSIZ],
}

/// A socket to put questions to the kernel by. Any will do; this one is never bound, for in a new network namespace not
/// even loopback is up.
pub(super) fn any_socket() -> io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::DGRAM, None)
}

/// Interrupt coalescing.
pub(super) struct Coalescing {
    pub(super) rx_usecs: u32,
    pub(super) rx_frames: u32,
    pub(super) tx_usecs: u32,
    pub(super) adaptive_rx: bool,
    pub(super) adaptive_tx: bool,
}

impl Card {
    /// The interface `name` of the calling thread's network namespace.
    pub(super) fn named(name: &str) -> io::Result<Self> {
        let mut padded = [0; libc::IFNAMSIZ];
        if name.len() >= padded.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in padded.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        Ok(Self { socket: any_socket()?, name: padded })
    }

    /// Largest packet, bytes of IP.
    pub(super) fn mtu(&self) -> io::Result<u32> {
        let mut request = self.request();
        self.ioctl(libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: the kernel has filled in the MTU, an int, and any bytes are a valid int.
        Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
    }

    /// Length of the transmit queue, packets.
    pub(super) fn tx_queue_len(&self) -> io::Result<u32> {
        let mut request = self.request();
        self.ioctl(libc::SIOCGIFTXQLEN, &mut request)?;
        // SAFETY: the kernel has filled in the length, an int in the union's first bytes; any bytes are a valid int.
        Ok(unsafe { request.ifr_ifru.ifru_metric } as u32)
    }

    /// Name of the driver.
    pub(super) fn driver(&self) -> io::Result<String> {
        let words: [u32; 49] = self.ask(ETHTOOL_GDRVINFO)?;
        Ok(text(&words[1..9]))
    }

    /// Interrupt coalescing; drivers without it refuse.
    pub(super) fn coalescing(&self) -> io::Result<Coalescing> {
        let words: [u32; 23] = self.ask(ETHTOOL_GCOALESCE)?;
        Ok(Coalescing {
            rx_usecs: words[1],
            rx_frames: words[2],
            tx_usecs: words[5],
            adaptive_rx: words[10] != 0,
            adaptive_tx: words[11] != 0,
        })
    }

    /// Slots of the receive and of the transmit ring.
    pub(super) fn rings(&self) -> io::Result<(u32, u32)> {
        let words: [u32; 9] = self.ask(ETHTOOL_GRINGPARAM)?;
        Ok((words[5], words[8]))
    }

    /// Channels in use: receiving, sending, both ways.
    pub(super) fn channels(&self) -> io::Result<(u32, u32, u32)> {
        let words: [u32; 9] = self.ask(ETHTOOL_GCHANNELS)?;
        Ok((words[5], words[6], words[8]))
    }

    /// Names of the offloads and features in force, as the kernel calls them, sorted.
    pub(super) fn features(&self) -> io::Result<Vec<String>> {
        // The command, a reserved word, a mask of the sets asked for (64 bits), then the size of each.
        let mut sizes = [ETHTOOL_GSSET_INFO, 0, 0, 0, 0];
        sizes[2..4].copy_from_slice(&words_of(1 << ETH_SS_FEATURES));
        self.fill(&mut sizes)?;
        let count = sizes[4] as usize;
        // The number of features is fixed when the kernel is built; more than this is no answer.
        if !(1..=4_096).contains(&count) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut names = vec![0; 3 + count * NAME_WORDS];
        names[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count as u32]);
        self.fill(&mut names)?;
        let blocks = count.div_ceil(32);
        let mut bits = vec![0; 2 + blocks * BLOCK_WORDS];
        bits[..2].copy_from_slice(&[ETHTOOL_GFEATURES, blocks as u32]);
        self.fill(&mut bits)?;
        Ok(in_force(&names[3..], &bits[2..]))
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: `ifreq` is a name and a union of integers and a pointer: all zeroes is a valid value of it.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name = self.name;
        request
    }

    fn ioctl(&self, code: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: the descriptor is open; `request` is a valid ifreq for reads and writes through the call, and where
        // `code` makes the kernel follow its pointer, `fill` has set that to a buffer long enough.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), code as _, std::ptr::from_mut(request)) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// A command with an answer of fixed length.
    fn ask<const WORDS: usize>(&self, command: u32) -> io::Result<[u32; WORDS]> {
        let mut words = [0; WORDS];
        words[0] = command;
        self.fill(&mut words)?;
        Ok(words)
    }

    /// A command in `words`, whose answer overwrites them. They must be as long as the command's structure.
    fn fill(&self, words: &mut [u32]) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        self.ioctl(SIOCETHTOOL, &mut request)
    }
}

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_GRINGPARAM: u32 = 0x10;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETH_SS_FEATURES: u32 = 4;
/// A name is 32 bytes; a block of features is available, requested, active, never changed.
const NAME_WORDS: usize = 8;
const BLOCK_WORDS: usize = 4;
const ACTIVE: usize = 2;

fn in_force(names: &[u32], blocks: &[u32]) -> Vec<String> {
    let is_active = |index: usize| {
        blocks.get(index / 32 * BLOCK_WORDS + ACTIVE).is_some_and(|block| block & (1 << (index % 32)) != 0)
    };
    let mut found: Vec<String> = names
        .chunks_exact(NAME_WORDS)
        .enumerate()
        .filter(|(index, _)| is_active(*index))
        .map(|(_, name)| text(name))
        .filter(|name| !name.is_empty())
        .collect();
    found.sort();
    found
}

/// A 64-bit number as the two words C would lay it out in.
fn words_of(number: u64) -> [u32; 2] {
    let bytes = number.to_ne_bytes();
    [0, 4].map(|at| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
}

/// The text in `words`, up to its first zero byte.
fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<u32> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(32, 0);
        bytes.chunks_exact(4).map(|w| u32::from_ne_bytes([w[0], w[1], w[2], w[3]])).collect()
    }

    #[test]
    fn features_in_force_are_those_with_the_active_bit() {
        let mut names: Vec<u32> = (0..34).flat_map(|_| words("")).collect();
        names[8..16].copy_from_slice(&words("rx-gro"));
        names[16..24].copy_from_slice(&words("rx-lro"));
        names[33 * 8..].copy_from_slice(&words("tx-udp-segmentation"));
        // Available, requested, active, never changed; the nameless feature 0 is active too.
        let blocks = [0b110, 0b110, 0b011, 0, 0b10, 0, 0b10, 0];
        assert_eq!(in_force(&names, &blocks), ["rx-gro", "tx-udp-segmentation"]);
        assert_eq!(in_force(&names, &blocks[..4]), ["rx-gro"]);
    }

    #[test]
    fn loopback_is_as_sysfs_says() {
        let card = Card::named("lo").unwrap();
        let sysfs = |file: &str| std::fs::read_to_string(format!("/sys/class/net/lo/{file}")).unwrap();
        assert_eq!(card.mtu().unwrap().to_string(), sysfs("mtu").trim());
        assert_eq!(card.tx_queue_len().unwrap().to_string(), sysfs("tx_queue_len").trim());
        let features = card.features().unwrap();
        // Set by the loopback driver for good (NETIF_F_SG among its fixed features).
        assert!(features.iter().any(|name| name == "tx-scatter-gather"), "{features:?}");
        assert!(card.coalescing().is_err(), "loopback raises no interrupts");
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert!(Card::named("no-such-iface").unwrap().mtu().is_err());
        assert!(Card::named("a-name-longer-than-any").is_err());
    }
}
