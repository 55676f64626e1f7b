//! Peer of a measurement, in words.

use logbook::record::Target;

/// Peer of the measurement, by name and address.
pub(crate) fn address(target: &Target) -> String {
    let address = match target.port {
        Some(port) => std::net::SocketAddr::new(target.address, port).to_string(),
        None => target.address.to_string(),
    };
    if target.own_reflector {
        return format!("{address} (own reflector)");
    }
    let host = target.host.as_deref().filter(|host| *host != target.address.to_string());
    host.map_or(address.clone(), |host| format!("{host} ({address})"))
}
