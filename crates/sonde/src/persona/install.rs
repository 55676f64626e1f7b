//! `sonde install-names`.
