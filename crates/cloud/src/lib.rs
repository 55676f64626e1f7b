//! Machines of a cloud, made and removed by the vendor's own command line program (`gcloud`, `aws`, `az`).
//!
//! A vendor's resources are data: an ordered list of [`resource::Resource`]s, each with the words that make it, find it and
//! remove it. [`make`] and [`remove`] run any such list, and know no vendor. Each step is written into a [`ledger`] before
//! and after, so that a clean-up that is owed is known whatever happens; [`census`] finds by their tags things of which no
//! ledger tells. [`kubernetes`] does the like with pods of a cluster. Machines that were made become hosts
//! (`logbook::host`); the transports to them are `lab`'s.
//!
//! Nothing here holds a credential: the programs have their own.

pub mod answer;
pub mod aws;
mod aws_region;
pub mod az;
pub mod call;
pub mod census;
pub mod fault;
pub mod gcloud;
pub mod kubernetes;
pub mod ledger;
mod lock;
pub mod machines;
pub mod make;
mod parallel;
pub mod remove;
pub mod resource;
pub mod script;
pub mod vendor;
pub mod wanted;
