//! `--connect-only`: connections are made, told of and dropped.

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::peer::iperf::client as peer;
use endpoint::stop::GLANCE;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::iperf::run::client::{Course, connection, record};
use crate::persona::iperf::run::teller::Teller;

/// Connections that are made where no number was said.
const USUAL: u32 = 10;

/// Makes them one after the other, an interval apart where one was asked for.
///
/// # Errors
/// The text that is printed where one is not made.
pub fn run(course: &Course<'_>, count: Option<u32>) -> Result<Exit, Answer> {
    let display = &course.client.common.display;
    let mut teller = Teller::new(display, false, record::zoned, course.print());
    teller.settings(&course.banner(&course.facts()));
    for number in 0..count.unwrap_or(USUAL) {
        let began = Monotonic::now();
        if course.stop.requested() {
            break;
        }
        let opened = peer::connect(&course.test, &course.stop).map_err(|error| course.not_run(error))?;
        teller.connection(&connection(course.client, &course.test, &opened));
        let last = number + 1 == count.unwrap_or(USUAL);
        let until = began.after(display.interval.filter(|_| !last).unwrap_or_default());
        while Monotonic::now() < until && !course.stop.requested() {
            pace::sleep_until(until.min(Monotonic::now().after(GLANCE)));
        }
    }
    course.end(None, None)
}
