//! The walls of the house, held by a machine: what the crates import is what is drawn.
//!
//! Each check is a plain function from text or a graph to a list of complaints, so that the tests below can show two
//! things of it: that this workspace gives no complaint, and that a violation gives one.

mod circles;
mod graph;
mod lexis;
mod lints;
mod pages;
mod persona;
mod source;
mod tree;
mod words;
