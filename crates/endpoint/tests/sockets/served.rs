//! A reflector of any settings in a separate thread, for as long as a test's body runs.

use std::net::{IpAddr, SocketAddr};
use std::thread;

use endpoint::reflector::{self, Settings};
use endpoint::stop::Stop;

/// The program that the reflector names as its own.
pub const PROGRAM: &str = "sonde test";

/// Requests the end when it is dropped, even by a failed assertion.
pub struct Ends<'a>(pub &'a Stop);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.request();
    }
}

/// Runs `body` beside a reflector of these settings, with the flag that stops it.
pub fn with_settings<T>(settings: Settings, body: impl FnOnce(SocketAddr, &Stop) -> T) -> T {
    let reflector = reflector::bind(settings).expect("bound");
    let address = reflector.addresses()[0];
    let stop = Stop::default();
    thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || reflector.run(stop).expect("served"));
        let _ends = Ends(stop);
        body(address, stop)
    })
}

/// Runs `body` beside a usual reflector at `ip`.
pub fn with_reflector<T>(ip: IpAddr, body: impl FnOnce(SocketAddr) -> T) -> T {
    with_settings(Settings::at(SocketAddr::new(ip, 0), PROGRAM), |address, _| body(address))
}
