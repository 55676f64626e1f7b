//! The two blocks that a connection's header and a datagram's have in common.

use measure::unit::Nanos;

use super::flag::{Flags, Lower, Upper};
use super::word;

/// Octets of [`Base`]: all that clients before 2.0.10 send.
pub const BASE: usize = 24;
/// Octets of [`Extension`].
pub const EXTENSION: usize = 36;

/// A unit of [`Amount`], where that is a time.
const UNIT: u64 = 10_000_000;

/// Part that every header has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// Flags that describe the test.
    pub flags: Flags,
    /// Streams of the client (`-P`); with a transfer id of 2.2 in front, see [`Base::streams`].
    pub threads: u32,
    /// Where the server connects back to (`-r`, `-d`).
    pub port: u32,
    /// Octets of a write (`-l`); 0: the default.
    pub buffer: u32,
    /// Unused.
    pub window: u32,
    /// Amount that the server sends, where it does.
    pub amount: Amount,
}

/// Amount of traffic: a time or a number of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount(pub i32);

impl Amount {
    /// A time, rounded up to 10 ms, and 10 ms at least; bounded by 248 days.
    pub fn time(time: Nanos) -> Self {
        let units = time.0.div_ceil(UNIT).clamp(1, 1 << 31);
        Self(i32::try_from(-i64::try_from(units).unwrap_or(i64::MAX)).unwrap_or(i32::MIN))
    }

    /// A number of octets. One that 31 bits do not hold cannot be asked for: it becomes the longest time, and who asked
    /// ends the test itself.
    pub fn bytes(bytes: u64) -> Self {
        i32::try_from(bytes).map_or(Self(i32::MIN), Self)
    }

    /// The time, where it is one.
    pub fn as_time(self) -> Option<Nanos> {
        (self.0 < 0).then(|| Nanos(u64::from(self.0.unsigned_abs()) * UNIT))
    }

    /// The octets, where it is a number of these.
    pub fn as_bytes(self) -> Option<u64> {
        u64::try_from(self.0).ok().filter(|bytes| *bytes > 0)
    }
}

impl Base {
    /// Streams of the client: without 2.2's transfer id.
    pub fn streams(&self) -> u32 {
        if self.threads >> 31 == 1 { self.threads & 0xF_FFFF } else { self.threads }
    }

    /// 2.2's transfer id, where there is one.
    pub fn transfer_id(&self) -> Option<u32> {
        (self.threads >> 31 == 1).then_some(self.threads >> 20 & 0x7FF)
    }

    /// Reads the block at the start of `octets`; `None` where it is not whole.
    pub fn read(octets: &[u8]) -> Option<Self> {
        let [flags, threads, port, buffer, window, amount] = word::read_all(octets)?;
        Some(Self { flags: Flags(flags), threads, port, buffer, window, amount: Amount(amount.cast_signed()) })
    }

    /// Writes the block at the start of `octets`.
    pub fn write(&self, octets: &mut [u8]) {
        let Self { flags, threads, port, buffer, window, amount } = *self;
        word::write_all(octets, 0, &[flags.0, threads, port, buffer, window, amount.0.cast_unsigned()]);
    }
}

/// Part that headers have since 2.0.10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    /// 0 in a header.
    pub kind: u32,
    /// 0 in a header.
    pub length: u32,
    /// More flags.
    pub upper: Upper,
    /// 2.2's flags.
    pub lower: Lower,
    /// The client's version.
    pub version: Version,
    /// 0.
    pub reserved: u16,
    /// Type of service (`-S`).
    pub service: u16,
    /// Rate at which the server sends, where it does.
    pub rate: Rate,
    /// `--tcp-write-prefetch`, octets.
    pub prefetch: u32,
}

/// A version as iperf 2 writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Major and minor number, 16 bits each.
    pub upper: u32,
    /// Patch and status, 16 bits each.
    pub lower: u32,
}

impl Version {
    /// 2.1.8, whose messages ours are.
    pub const OURS: Self = Self { upper: 0x0002_0001, lower: 0x0008_0003 };

    /// 2.2.1, whose headers of isochronous datagrams ours are: the first with a barrier in front of what 2.1 has there.
    pub const BARRED: Self = Self { upper: 0x0002_0002, lower: 0x0001_0001 };

    /// Major, minor and patch number.
    pub fn numbers(self) -> [u16; 3] {
        [(self.upper >> 16) as u16, self.upper as u16, (self.lower >> 16) as u16]
    }

    /// The mark behind the numbers as both versions print them; none of a release. The 2.2.1 of Debian 13 says that it is none.
    pub fn status(self) -> &'static str {
        match self.lower & 0xF {
            0 => "-dev",
            1 => "-rc",
            2 => "-rc2",
            3 => "",
            4 => "-private",
            5 => "-master",
            _ => "-unk",
        }
    }
}

/// A rate: bits, or with [`Upper::PACKETS`] datagrams, a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// The low 32 bits.
    pub low: u32,
    /// The high bits, shifted left by 8: a quirk of both versions.
    pub high: u32,
}

impl Rate {
    /// A rate of `per_second` units; above 56 bits the largest that there is.
    pub fn of(per_second: u64) -> Self {
        let bounded = per_second.min((1 << 56) - 1);
        Self { low: bounded as u32, high: ((bounded >> 32) as u32) << 8 }
    }

    /// Returns the number a second; `None`: as many as fit.
    pub fn per_second(self) -> Option<u64> {
        let value = u64::from(self.high >> 8) << 32 | u64::from(self.low);
        (value > 0).then_some(value)
    }
}

impl Extension {
    /// Reads the block at the start of `octets`; `None` where it is not whole.
    pub fn read(octets: &[u8]) -> Option<Self> {
        let [kind, length, flags, upper, lower, service, low, high, prefetch] = word::read_all(octets)?;
        Some(Self {
            kind,
            length,
            upper: Upper((flags >> 16) as u16),
            lower: Lower(flags as u16),
            version: Version { upper, lower },
            reserved: (service >> 16) as u16,
            service: service as u16,
            rate: Rate { low, high },
            prefetch,
        })
    }

    /// Writes the block at the start of `octets`.
    pub fn write(&self, octets: &mut [u8]) {
        let join = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        let Version { upper, lower } = self.version;
        let (flags, service) = (join(self.upper.0, self.lower.0), join(self.reserved, self.service));
        let Rate { low, high } = self.rate;
        word::write_all(octets, 0, &[self.kind, self.length, flags, upper, lower, service, low, high, self.prefetch]);
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(Amount(-100), Some(Nanos::secs(1)), None)]
    #[test_case(Amount(i32::MIN), Some(Nanos(21_474_836_480_000_000)), None)]
    #[test_case(Amount(307_200), None, Some(307_200))]
    #[test_case(Amount(0), None, None; "nothing is said")]
    fn an_amount_is_a_time_or_octets(amount: Amount, time: Option<Nanos>, bytes: Option<u64>) {
        assert_eq!((amount.as_time(), amount.as_bytes()), (time, bytes));
    }

    #[test]
    fn an_amount_is_bounded() {
        assert_eq!(Amount::time(Nanos::ZERO), Amount(-1));
        assert_eq!(Amount::time(Nanos(10_000_001)), Amount(-2));
        assert_eq!(Amount::time(Nanos(u64::MAX)), Amount(i32::MIN));
        assert_eq!(Amount::bytes(1 << 31), Amount(i32::MIN));
        assert_eq!(Amount::bytes((1 << 31) - 1).as_bytes(), Some((1 << 31) - 1));
    }

    #[test_case(0, None)]
    #[test_case(512_000, Some(512_000))]
    #[test_case(10_000_000_000, Some(10_000_000_000); "more than 32 bits")]
    #[test_case(u64::MAX, Some((1 << 56) - 1))]
    fn a_rate_is_read_as_written(asked: u64, told: Option<u64>) {
        assert_eq!(Rate::of(asked).per_second(), told);
        assert_eq!(Rate::of(asked).high & 0xFF, 0);
    }

    #[test]
    fn a_transfer_id_stands_in_front_of_the_threads() {
        let base = Base { threads: 0x8030_0002, ..Base::default() };
        assert_eq!((base.streams(), base.transfer_id()), (2, Some(3)));
        let plain = Base { threads: 2, ..Base::default() };
        assert_eq!((plain.streams(), plain.transfer_id()), (2, None));
    }
}
