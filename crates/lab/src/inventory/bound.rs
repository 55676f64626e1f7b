//! Greatest number of hosts in a list.

use logbook::plan::MOST_HOSTS;

use crate::document::Fault;

/// Refuses a list that has grown beyond it, at this line.
pub fn enough(hosts: usize, line: usize) -> Result<(), Fault> {
    let hint = "list only the hosts that are to be measured";
    let most = || Fault::new(line, format!("more than {MOST_HOSTS} hosts"), hint);
    if hosts > MOST_HOSTS { Err(most()) } else { Ok(()) }
}
