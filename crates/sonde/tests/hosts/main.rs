//! Several hosts: labs, plans over them, what answers between them, and who answers for whom.

mod lab;
mod reach;
mod run;
mod syn;
