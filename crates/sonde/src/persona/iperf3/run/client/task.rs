//! Options of a client, as a test that the protocol knows.

use std::net::IpAddr;

use endpoint::error::{Cause, EndpointError};
use endpoint::peer::iperf3::client::{Credentials, Test};
use endpoint::stop::Stop;
use endpoint::thread::check_allowed;
use measure::unit::Nanos;
use protocol::iperf3::code::Code;
use protocol::iperf3::parameters::{DATAGRAM, Parameters, Protocol, Segmentation};

use crate::persona::answer::Answer;
use crate::persona::iperf3::facts::File;
use crate::persona::iperf3::options::{Client, Common, Until};
use crate::persona::iperf3::output::failure;
use crate::persona::process::said;
use crate::words;

/// Version that we give: servers note it, and none depends on it.
const VERSION: &str = "3.21";
/// Without reports one interval is as long as any test.
const NO_INTERVAL: Nanos = Nanos::secs(100 * 86_400);

/// The test of these options.
///
/// # Errors
/// A file that is not there.
pub fn test(common: &Common, client: &Client, credentials: Option<Credentials>) -> Result<Test, Answer> {
    if let Some(path) = &common.file {
        std::fs::File::open(path).map_err(|cause| {
            let text = failure::text(Code(14), Some(&said(&cause)));
            Answer::complaint(failure::line(&text))
        })?;
    }
    if let Some(cpu) = common.cpu {
        check_allowed(&[cpu]).map_err(|error| {
            let cause = if let Cause::System(cause) = &error.cause { said(cause) } else { error.cause.to_string() };
            let text = failure::text(Code(132), Some(&cause));
            let hint = words::hint(&error).map_or_else(String::new, |hint| format!("iperf3: {hint}\n"));
            Answer::complaint(failure::line(&text) + &hint)
        })?;
    }
    Ok(Test {
        credentials,
        local_port: client.first_port,
        cpu: common.cpu,
        file: common.file.clone(),
        interval: interval(common),
        receive_timeout: Nanos::millis(common.receive_timeout_ms.into()),
        send_timeout: common.send_timeout_ms.map(|ms| Nanos::millis(ms.into())),
        ..Test::new(parameters(client))
    })
}

/// Length of an interval.
pub fn interval(common: &Common) -> Nanos {
    if common.interval_s > 0.0 { Nanos((common.interval_s * 1e9).round() as u64) } else { NO_INTERVAL }
}

/// The test with the size of its datagrams, which is that of the control connection's segments where nobody said another.
pub fn complete(test: &Test, segment: u32) -> Test {
    let mut test = test.clone();
    let of_protocol = test.parameters.protocol.default_block();
    let fits = Some(segment).filter(|bytes| DATAGRAM.contains(bytes) && test.parameters.protocol == Protocol::Udp);
    test.parameters.block = test.parameters.block.or(fits).or(Some(of_protocol));
    test
}

/// The local address, where one was named.
///
/// # Errors
/// A name that is none.
pub fn local(common: &Common, stop: &Stop) -> Result<Option<IpAddr>, EndpointError> {
    let Some(host) = &common.bind else { return Ok(None) };
    endpoint::name::look_up(host, 0, common.family, stop).map(|address| Some(address.ip()))
}

/// The file that is sent.
pub fn file(common: &Common) -> Option<File> {
    let path = common.file.as_ref()?;
    let size = std::fs::metadata(path).ok()?.len();
    Some(File { name: path.display().to_string(), size })
}

fn parameters(client: &Client) -> Parameters {
    let (time, bytes, blocks) = match client.until {
        Until::Seconds(seconds) => (seconds, 0, 0),
        Until::Bytes(bytes) => (0, bytes, 0),
        Until::Blocks(blocks) => (0, 0, blocks),
    };
    let udp = client.protocol == Protocol::Udp;
    Parameters {
        protocol: client.protocol,
        omit: client.omit_s,
        server_affinity: client.server_cpu,
        time,
        bytes,
        blocks,
        mss: client.segment_bytes.filter(|_| !udp),
        nodelay: client.nodelay && !udp,
        parallel: client.parallel,
        direction: client.direction,
        window: client.window,
        block: client.block_bytes,
        rate: client.rate,
        fq_rate: client.fq_rate,
        pacing_timer_us: client.pacing_timer_us,
        burst: client.burst,
        segmentation: udp.then_some(Segmentation { gso: client.gsro, gro: client.gsro, ..Segmentation::OFF }),
        tos: client.tos,
        title: client.title.clone(),
        extra_data: client.extra_data.clone(),
        congestion: client.congestion.clone().filter(|_| !udp),
        get_server_output: client.server_output,
        counters_64bit: client.counters_64bit && udp,
        repeating_payload: client.repeating_payload,
        zerocopy: client.zerocopy,
        dont_fragment: client.dont_fragment && udp,
        skip_rx_copy: client.skip_copy,
        mptcp: client.mptcp && !udp,
        client_version: Some(VERSION.to_owned()),
        ..Parameters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persona::iperf3::options::{Role, parse};

    fn of(line: &str) -> (Common, Client) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let asked = parse(&words).unwrap();
        match asked.role {
            Role::Client(client) => (asked.common, *client),
            Role::Server(_) => panic!("a server"),
        }
    }

    #[test]
    fn what_a_client_asks_for_is_what_was_typed() {
        let (_, client) = of("-c db1 -t 1 -R -b 4M -l 32K");
        let expected = "{\"tcp\":true,\"omit\":0,\"time\":1,\"num\":0,\"blockcount\":0,\"parallel\":1,\"reverse\":true,\
                        \"len\":32768,\"bandwidth\":4000000,\"pacing_timer\":1000,\"client_version\":\"3.21\"}";
        assert_eq!(parameters(&client).write(), expected);
        let (_, client) = of("-c db1 -u -t 1 -b 400000 -l 1000 -N -C reno");
        let expected = "{\"udp\":true,\"omit\":0,\"time\":1,\"num\":0,\"blockcount\":0,\"parallel\":1,\"len\":1000,\
                        \"bandwidth\":400000,\"pacing_timer\":1000,\"gso\":0,\"gso_dg_size\":0,\"gso_bf_size\":65507,\
                        \"gro\":0,\"gro_bf_size\":65507,\"client_version\":\"3.21\"}";
        assert_eq!(parameters(&client).write(), expected);
    }

    #[test]
    fn datagrams_are_as_large_as_segments_where_nobody_says() {
        let (common, client) = of("-u -c db1");
        let test = test(&common, &client, None).unwrap();
        assert_eq!(complete(&test, 1_448).parameters.block, Some(1_448));
        assert_eq!(complete(&test, 9).parameters.block, Some(1_460));
        let (common, client) = of("-c db1 -i 0");
        let test = self::test(&common, &client, None).unwrap();
        assert_eq!((complete(&test, 1_448).parameters.block, test.interval), (Some(131_072), NO_INTERVAL));
    }
}
