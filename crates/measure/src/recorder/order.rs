//! In which order replies came, and which losses stand together.

/// Where the numbers of one connection stand. Order and runs of losses have a meaning within a connection alone, so each
/// has one of these, also where several share a recorder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// RFC 4737: what arrives below it is reordered.
    pub(super) next_expected: u64,
    /// The present run of losses.
    run: u64,
    last_lost: Option<u64>,
}

/// What was seen of the order of arrival, all connections together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Reordered arrivals by how far they lag behind the largest number seen, in powers of two from 1.
    pub extents: [u64; 16],
    /// Longest run of consecutive losses, and how many runs there were (RFC 3357 loss periods).
    pub loss_periods: LossPeriods,
}

/// Runs of consecutive losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossPeriods {
    /// How many runs of consecutive losses there were.
    pub periods: u64,
    /// The longest of them.
    pub longest: u64,
}

impl LossPeriods {
    /// Number `seq` of a connection is lost. Its numbers come in ascending order.
    pub fn lost(&mut self, of: &mut Sequence, seq: u64) {
        let goes_on = seq > 0 && of.last_lost == Some(seq - 1);
        of.run = if goes_on { of.run + 1 } else { 1 };
        of.last_lost = Some(seq);
        self.periods += u64::from(!goes_on);
        self.longest = self.longest.max(of.run);
    }
}
