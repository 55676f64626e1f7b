//! The options that the original has not.

use crate::persona::answer::Answer;
use crate::persona::own;
use crate::persona::sockperf::options::Own;
use crate::persona::sockperf::options::reading::Reading;
use crate::persona::sockperf::options::table::Key;

/// Reads them.
pub(super) fn read(reading: &Reading) -> Result<Own, Answer> {
    let pacing = reading
        .text(Key::Pacing)
        .map(|word| own::pacing(word).ok_or_else(|| Reading::refusal(&format!("--pacing {word}"), own::PACINGS)));
    Ok(Own {
        json: reading.has(Key::Json),
        record: reading.path(Key::Record),
        samples: reading.parsed(Key::Samples, "--samples")?,
        pacing: pacing.transpose()?,
    })
}
