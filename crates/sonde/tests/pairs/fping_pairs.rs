//! Our fping, mtr and traceroute beside Debian's: the same command line from the same host, the same lines where times are left out.

mod forms;
mod scene;
mod smokeping;
