//! Board between the centre and its readers: one lock for the present state, one for sums, and a bell for those who wait for
//! news.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::centre::picture::{CollectorNow, Picture, Totals};

/// The board.
#[derive(Debug)]
pub struct Board {
    picture: Mutex<Arc<Picture>>,
    totals: Mutex<Totals>,
    collector: Mutex<Option<CollectorNow>>,
    news: watch::Sender<u64>,
}

impl Default for Board {
    fn default() -> Self {
        Self {
            picture: Mutex::default(),
            totals: Mutex::default(),
            collector: Mutex::default(),
            news: watch::Sender::new(0),
        }
    }
}

impl Board {
    /// Puts up a new picture.
    pub fn show(&self, picture: Picture) {
        let at = picture.at;
        *lock(&self.picture) = Arc::new(picture);
        self.news.send_replace(at);
    }

    /// The latest picture.
    pub fn picture(&self) -> Arc<Picture> {
        Arc::clone(&lock(&self.picture))
    }

    /// The sums, while nobody else has them.
    pub fn totals(&self) -> MutexGuard<'_, Totals> {
        lock(&self.totals)
    }

    /// Notes that metrics are sent to a collector, and why it does not take them; absent: it does.
    pub fn note_collector(&self, fault: Option<String>) {
        *lock(&self.collector) = Some(CollectorNow { fault });
    }

    /// See [`Board::note_collector`].
    pub fn collector(&self) -> Option<CollectorNow> {
        lock(&self.collector).clone()
    }

    /// Tells the second of each new picture.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data behind the lock are whole at any time, whoever broke off.
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
