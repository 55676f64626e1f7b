//! The store of runs: what is kept is had again, whatever becomes of the process, the file and the disk.

mod broken;
mod kept;
mod killed;
mod room;
mod scene;
mod spooled;
mod together;
mod writer;
