//! Labs as users make them, and the ways to their hosts: real namespaces, real sshds, and what is left of them.

mod cut;
mod hosts;
mod scene;
mod ssh;
mod words;
