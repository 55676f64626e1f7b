//! Exchanges as lines and figures, while they happen.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};

use endpoint::link::echo::{Reply, Sighting, What};
use endpoint::name;
use endpoint::peer::ping::{Prepared, Test};
use endpoint::session::audience::Audience;
use endpoint::stop::Stop;
use protocol::icmp::echo::Family;
use protocol::icmp::error::IcmpError;

use crate::output::Output;
use crate::persona::ping::options::Options;
use crate::persona::ping::output::complaint::{self, Icmp};
use crate::persona::ping::output::hops::Hops;
use crate::persona::ping::output::line;
use crate::persona::ping::output::summary::interim;
use crate::persona::ping::statistics::Statistics;

/// Prints what is seen, and counts.
#[derive(Debug)]
pub struct Hearing<'a> {
    options: &'a Options,
    test: &'a Test,
    output: &'a Output,
    stop: &'a Stop,
    /// Set by a signal: the figures so far are asked for.
    asked_how: &'a AtomicBool,
    statistics: Statistics,
    errors: BTreeMap<String, u64>,
    names: Names,
    hops: Hops,
    identifier: Option<u16>,
    /// Text to be printed next.
    text: String,
    /// Columns that dots may take.
    columns: u64,
}

/// Results of the exchanges.
#[derive(Debug)]
pub struct Heard {
    /// The figures.
    pub statistics: Statistics,
    /// ICMP errors by kind.
    pub errors: BTreeMap<String, u64>,
}

impl<'a> Hearing<'a> {
    /// Before anything was seen.
    pub fn new(
        options: &'a Options,
        test: &'a Test,
        prepared: &Prepared,
        asked_how: &'a AtomicBool,
        (output, stop): (&'a Output, &'a Stop),
    ) -> Self {
        let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| u64::from(size.ws_col));
        Self {
            options,
            test,
            output,
            stop,
            asked_how,
            statistics: Statistics::default(),
            errors: BTreeMap::new(),
            names: Names::new(options),
            hops: Hops::default(),
            identifier: super::identifier(options, prepared),
            text: String::new(),
            columns: if columns == 0 { u64::MAX } else { columns },
        }
    }

    /// Names of addresses.
    pub fn names(&self) -> Names {
        self.names.clone()
    }

    /// Says something, unless a record alone is to be printed.
    pub fn say(&mut self, text: &str) {
        if !self.options.own.json && !self.output.exactly(text) {
            // Nobody reads any more, as behind `| head -1`.
            self.stop.request();
        }
    }

    /// Nothing more will be seen.
    pub fn finish(mut self) -> Heard {
        self.print();
        Heard { statistics: self.statistics, errors: self.errors }
    }

    fn print(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.say(&text);
        }
    }

    /// The number of a request as its header has it.
    fn number(seq: u64) -> u16 {
        (seq + 1) as u16
    }

    fn stamp(&mut self, at: u64) {
        if self.options.timestamps {
            self.text += &line::timestamp(at);
        }
    }

    fn sent(&mut self, seq: u64, at: u64) {
        if self.options.outstanding && seq > 0 && !self.statistics.is_answered(seq - 1) && !self.options.quiet {
            self.stamp(at);
            self.text += &line::outstanding(Self::number(seq - 1));
        }
        self.statistics.sent(seq, at);
        if self.dots() && self.statistics.in_flight() < self.columns {
            self.text.push('.');
        }
    }

    fn dots(&self) -> bool {
        self.options.flood && !self.options.quiet
    }

    fn not_sent(&mut self, seq: u64, at: u64, errno: i32, mtu: Option<u32>) {
        self.statistics.sent(seq, at);
        if mtu.is_some() {
            self.statistics.errors += 1;
        }
        if self.dots() {
            self.text.push('E');
        } else if !self.options.quiet {
            self.print();
            let said = crate::persona::ping::output::failure::said(&std::io::Error::from_raw_os_error(errno));
            self.output.note(&complaint::local(self.test.address.is_ipv6(), &said, mtu));
        }
    }

    fn reply(&mut self, seq: u64, at: u64, reply: &Reply) {
        let (options, test) = (self.options, self.test);
        let received = self.statistics.received(seq, at, options.times(), !reply.bad_checksum);
        if options.quiet {
            return;
        }
        if options.flood {
            self.text += if reply.bad_checksum { "\u{8}C" } else { "\u{8} \u{8}" };
            return;
        }
        let asked = test.address.ip();
        let to_many = asked.is_multicast() || options.broadcast;
        self.stamp(at);
        self.text += &line::Reply {
            octets: reply.octets,
            from: &self.names.of(reply.from, reply.scope),
            seq: Self::number(seq),
            identifier: self.identifier,
            ttl: reply.ttl,
            truncated: reply.octets < options.size + 8,
            micros: received.micros,
            again: received.again && (!to_many || options.verbose),
            bad_checksum: reply.bad_checksum,
            // `::` is answered from another address always.
            different_address: !to_many && reply.from != asked && !asked.is_unspecified(),
            wrong: reply.wrong.as_deref(),
            sent: &test.payload,
        }
        .text();
        if options.audible {
            self.text.push('\u{7}');
        }
        if let Some(written) = &reply.options {
            let names = &mut self.names;
            self.text += &self.hops.text(written, &mut |hop| names.of(hop.into(), 0));
        }
        self.text.push('\n');
    }

    fn complaint(&mut self, seq: u64, at: u64, from: IpAddr, what: Icmp) {
        let family = if what.six { Family::V6 } else { Family::V4 };
        let meaning = IcmpError::of(family, what.kind, what.code, what.info);
        let final_ = meaning.is_some_and(IcmpError::is_final);
        let named = meaning.map_or_else(|| format!("type {}, code {}", what.kind, what.code), |kind| kind.to_string());
        *self.errors.entry(named).or_default() += 1;
        if final_ {
            self.statistics.acknowledge(seq);
            self.statistics.errors += 1;
        }
        if self.options.quiet {
            return;
        }
        if self.options.flood {
            if final_ {
                self.text += "\u{8}E";
            }
            return;
        }
        self.stamp(at);
        let from = self.names.of(from, 0);
        self.text += &complaint::line(&from, Self::number(seq), what);
    }
}

impl Audience<Sighting> for Hearing<'_> {
    fn hear(&mut self, sighting: Sighting) {
        let Sighting { seq, at, what } = sighting;
        match what {
            What::Sent => self.sent(seq, at),
            What::NotSent { errno, mtu } => self.not_sent(seq, at, errno, mtu),
            What::Reply(reply) => self.reply(seq, at, &reply),
            What::Complaint { from, kind, code, info } => {
                let six = self.test.address.is_ipv6();
                self.complaint(seq, at, from, Icmp { six, kind, code, info });
            }
        }
    }

    fn enough(&mut self) -> bool {
        self.print();
        if self.asked_how.swap(false, Ordering::Relaxed) {
            self.output.aside(&interim(&self.statistics));
        }
        let statistics = &self.statistics;
        let counted = self.options.count.is_some_and(|count| statistics.received + statistics.errors >= count);
        counted || (self.options.deadline.is_some() && statistics.errors > 0)
    }
}

/// Names of addresses in lines.
#[derive(Clone, Debug)]
pub struct Names {
    /// True where they are looked up: the destination is a name, and `-n` was not given.
    looked_up: bool,
    known: BTreeMap<IpAddr, String>,
}

/// True for a destination that is an address, which `inet_aton` also takes as `0`, `127.1` or `0x7f000001`.
fn is_number(text: &str) -> bool {
    let is_part = |part: &str| {
        let hexadecimal = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
        let (digits, radix) = hexadecimal.map_or((part, 10), |digits| (digits, 16));
        u32::from_str_radix(digits, radix).is_ok() && !digits.starts_with('+')
    };
    text.parse::<IpAddr>().is_ok() || (text.split('.').count() <= 4 && text.split('.').all(is_part))
}

/// So many names are kept.
const KNOWN: usize = 1_024;

impl Names {
    fn new(options: &Options) -> Self {
        let bare = options.destination.split('%').next().unwrap_or_default();
        Self { looked_up: !options.numeric && !is_number(bare), known: BTreeMap::new() }
    }

    /// The name and the number of an address, or the number alone. A resolver that takes its time holds up the lines,
    /// and no request.
    pub fn of(&mut self, address: IpAddr, scope: u32) -> String {
        let mut number = address.to_string();
        // The groups of a link are those of ff02::/16.
        let local = |six: Ipv6Addr| six.is_unicast_link_local() || six.segments()[0] & 0xff0f == 0xff02;
        let local = matches!(address, IpAddr::V6(six) if local(six));
        if let Some(interface) = name::interface(scope).filter(|_| local) {
            let _ = write!(number, "%{interface}");
        }
        if !self.looked_up {
            return number;
        }
        if self.known.len() >= KNOWN {
            self.known.clear();
        }
        let known = self.known.entry(address);
        known
            .or_insert_with(|| name::of(address).map_or_else(|| number.clone(), |name| format!("{name} ({number})")))
            .clone()
    }
}
