//! Fields of requests over HTTP/2 (RFC 9113 section 8.3), the question for the health of a server of gRPC (gRPC Health Checking Protocol), and those
//! of DNS.

use super::hpack;
use crate::application::http::{Request, RequestError};

const CHECK: &str = "/grpc.health.v1.Health/Check";
/// Longest name of a service, octets.
const LONGEST_SERVICE: u8 = 127;

/// The header block and the body of a question for the health of `service`, or of the whole server where that is empty.
///
/// # Errors
/// A host or a service that cannot be written.
pub fn health(host: &str, service: &str, secure: bool) -> Result<(Vec<u8>, Vec<u8>), RequestError> {
    let request = Request {
        method: "POST".to_owned(),
        host: host.to_owned(),
        target: CHECK.to_owned(),
        fields: Vec::new(),
        body: Vec::new(),
        agent: String::new(),
    };
    request.check()?;
    let length = u8::try_from(service.len()).ok().filter(|length| *length <= LONGEST_SERVICE);
    let length = length.ok_or(RequestError::Target)?;
    let mut block = Vec::new();
    pseudo_fields(&mut block, &request, host, secure);
    hpack::named(&mut block, 31, "application/grpc");
    hpack::literal(&mut block, "te", "trailers");
    // The name is field 1; an empty one is left out. Before the message: not compressed, and its length.
    let message = if service.is_empty() { Vec::new() } else { [&[0x0A, length], service.as_bytes()].concat() };
    let body = [&[0, 0, 0, 0, message.len() as u8], &message[..]].concat();
    Ok((block, body))
}

/// The request that carries a `message` of DNS (RFC 8484 section 4.1), at the path that resolvers have by custom.
/// Caches of HTTP do not keep the content of a body.
pub fn dns(message: &[u8], host: &str, agent: &str) -> Request {
    let field = |name: &str| (name.to_owned(), "application/dns-message".to_owned());
    Request {
        method: "POST".to_owned(),
        host: host.to_owned(),
        target: "/dns-query".to_owned(),
        fields: ["accept", "content-type"].map(field).to_vec(),
        body: message.to_vec(),
        agent: agent.to_owned(),
    }
}

/// Method, scheme, path and authority, which come before all other fields (RFC 9113 section 8.3). The numbers are entries of the static table.
fn pseudo_fields(block: &mut Vec<u8>, request: &Request, host: &str, secure: bool) {
    match request.method.as_str() {
        "GET" => hpack::indexed(block, 2),
        "POST" => hpack::indexed(block, 3),
        other => hpack::named(block, 2, other),
    }
    hpack::indexed(block, if secure { 7 } else { 6 });
    match request.target.as_str() {
        "/" => hpack::indexed(block, 4),
        other => hpack::named(block, 4, other),
    }
    hpack::named(block, 1, host);
}

/// The host that a request names: that of its field, where one is given.
pub fn host_of(request: &Request) -> &str {
    let given = request.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    given.map_or(&request.host, |(_, value)| value)
}

/// True where a field of this name is given.
pub fn has(request: &Request, wanted: &str) -> bool {
    request.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted))
}

/// The given fields but the host. Names are written small (RFC 9113 section 8.2.1, RFC 9114 section 4.2).
///
/// # Errors
/// A field that only HTTP/1 has.
pub fn others(request: &Request) -> Result<Vec<(String, &str)>, RequestError> {
    let mut others = Vec::new();
    for (name, value) in &request.fields {
        let small = name.to_ascii_lowercase();
        match small.as_str() {
            "host" => {}
            "keep-alive" | "proxy-connection" | "upgrade" => return Err(RequestError::OldField(name.clone())),
            "te" if !value.eq_ignore_ascii_case("trailers") => return Err(RequestError::OldField(name.clone())),
            _ => others.push((small, value.as_str())),
        }
    }
    Ok(others)
}

/// The header block of a request.
///
/// # Errors
/// A field that HTTP/2 does not have.
pub fn fields(request: &Request, secure: bool) -> Result<Vec<u8>, RequestError> {
    let mut block = Vec::new();
    pseudo_fields(&mut block, request, host_of(request), secure);
    if !has(request, "user-agent") {
        hpack::named(&mut block, 58, &request.agent);
    }
    for (name, value) in others(request)? {
        hpack::literal(&mut block, &name, value);
    }
    if request.says_length() {
        hpack::named(&mut block, 28, &request.body.len().to_string());
    }
    Ok(block)
}
