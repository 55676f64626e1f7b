//! Conditions as people type them and as they are printed again, which is one and the same.

use std::fmt;
use std::str::FromStr;

use super::{ACHIEVED, Bound, Clause, Condition, Quantity, Share, WHOLE};
use crate::unit::{Nanos, UnitError, scaled, split_number};

impl Share {
    /// Parses a number of hundredths; `None` where it is no number or above 100.
    fn of_percent(number: &str) -> Option<Self> {
        let parts = scaled(number, u64::from(WHOLE) / 100)?;
        u32::try_from(parts).ok().filter(|parts| *parts <= WHOLE).map(Self)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:07}", self.0 / (WHOLE / 100), self.0 % (WHOLE / 100));
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))?;
        f.write_str("%")
    }
}

/// As it is typed, every digit of it.
impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        let sign = |or_equal| if or_equal { "<=" } else { "<" };
        match self.bound {
            Bound::Time { limit, or_equal } => write!(f, "{name}{}{}", sign(or_equal), exact(limit)),
            Bound::AtMost { limit, or_equal } => write!(f, "{name}{}{limit}", sign(or_equal)),
            Bound::AtLeast { limit } => write!(f, "{name}>={limit}"),
        }
    }
}

fn exact(time: Nanos) -> String {
    let (scale, unit) = match time.0 {
        0..1_000 => return format!("{}ns", time.0),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let text = format!("{}.{:09}", time.0 / scale, time.0 % scale * (1_000_000_000 / scale));
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, clause) in self.clauses.iter().enumerate() {
            write!(f, "{}{clause}", if index > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// A text that is no condition: its fault, and a form that would be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// It holds only the clause about our own side.
    #[error("is empty: write p99<1ms, loss<0.1%, or both with a comma")]
    Empty,
    /// A clause without `<` or `>=`.
    #[error("`{clause}` is not a condition: write it as p99<1ms, mean<200us, loss<0.1% or slip<50us")]
    NoClause {
        /// The clause.
        clause: String,
    },
    /// A quantity that is not known.
    #[error("unknown quantity `{name}`: use p50 to p99.999, mean, max, loss, slip or achieved")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// The wrong way round.
    #[error("`{clause}` has the wrong sign: times and losses take <, achieved takes >=")]
    WrongWay {
        /// The clause.
        clause: String,
    },
    /// A limit that is no time.
    #[error("`{clause}`: {fault}")]
    Time {
        /// The clause.
        clause: String,
        /// Fault of the limit.
        fault: UnitError,
    },
    /// A limit that is no share.
    #[error("`{clause}`: write the share with its sign, as in 0.1%, from 0% to 100%")]
    Share {
        /// The clause.
        clause: String,
    },
    /// A limit that nothing, or everything, meets.
    #[error("`{clause}` is met by {whom}")]
    Pointless {
        /// The clause.
        clause: String,
        /// By nothing, or by everything.
        whom: &'static str,
    },
    /// A quantity twice.
    #[error("{name} is given twice")]
    Twice {
        /// Its name.
        name: String,
    },
}

impl FromStr for Condition {
    type Err = ConditionError;

    /// Clauses with commas between them, blanks wherever they may be.
    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let mut clauses: Vec<Clause> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let clause: Clause = part.parse()?;
            if clauses.iter().any(|other| other.of == clause.of) {
                return Err(ConditionError::Twice { name: clause.name() });
            }
            clauses.push(clause);
        }
        if clauses.iter().all(|clause| clause.of == Quantity::Achieved) {
            return Err(ConditionError::Empty);
        }
        if !clauses.iter().any(|clause| clause.of == Quantity::Achieved) {
            clauses.push(ACHIEVED);
        }
        Ok(Self { clauses })
    }
}

impl FromStr for Clause {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let clause = || text.to_owned();
        let at = text.find(['<', '>', '≤', '≥']).ok_or_else(|| ConditionError::NoClause { clause: clause() })?;
        let (name, rest) = text.split_at(at);
        let signs =
            [("<=", true, true), ("≤", true, true), ("<", true, false), (">=", false, true), ("≥", false, true)];
        let signs = signs.into_iter().chain([(">", false, false)]);
        let (limit, below, or_equal) = signs
            .into_iter()
            .find_map(|(sign, below, or_equal)| Some((rest.strip_prefix(sign)?.trim(), below, or_equal)))
            .ok_or_else(|| ConditionError::NoClause { clause: clause() })?;
        let of = quantity(name.trim())?;
        if below == (of == Quantity::Achieved) || !below && !or_equal {
            return Err(ConditionError::WrongWay { clause: clause() });
        }
        let bound = bound(of, limit, or_equal, text)?;
        Ok(Self { of, bound })
    }
}

fn bound(of: Quantity, limit: &str, or_equal: bool, clause: &str) -> Result<Bound, ConditionError> {
    let pointless = |whom| Err(ConditionError::Pointless { clause: clause.to_owned(), whom });
    if !matches!(of, Quantity::Loss | Quantity::Achieved) {
        let limit: Nanos = limit.parse().map_err(|fault| ConditionError::Time { clause: clause.to_owned(), fault })?;
        return if limit == Nanos::ZERO { pointless("no answer") } else { Ok(Bound::Time { limit, or_equal }) };
    }
    let no_share = || ConditionError::Share { clause: clause.to_owned() };
    let (number, unit) = split_number(limit);
    let limit = Share::of_percent(number).filter(|_| unit.trim() == "%").ok_or_else(no_share)?;
    match (of, limit.0) {
        (Quantity::Achieved, 0) => pointless("every rate"),
        (Quantity::Achieved, _) => Ok(Bound::AtLeast { limit }),
        (_, 0) if !or_equal => pointless("no rate"),
        (_, WHOLE) if or_equal => pointless("every rate"),
        _ => Ok(Bound::AtMost { limit, or_equal }),
    }
}

fn quantity(name: &str) -> Result<Quantity, ConditionError> {
    let unknown = || ConditionError::Unknown { name: name.to_owned() };
    Ok(match name {
        "mean" => Quantity::Mean,
        "max" => Quantity::Max,
        "loss" => Quantity::Loss,
        "slip" => Quantity::Slip,
        "achieved" => Quantity::Achieved,
        "median" => Quantity::Quantile(Share(WHOLE / 2)),
        _ => {
            let share = name.strip_prefix('p').and_then(Share::of_percent).ok_or_else(unknown)?;
            // Beyond five nines no run is long enough.
            let known = WHOLE / 2..=WHOLE - WHOLE / 100_000;
            if !known.contains(&share.0) {
                return Err(unknown());
            }
            Quantity::Quantile(share)
        }
    })
}

impl TryFrom<String> for Condition {
    type Error = ConditionError;

    fn try_from(text: String) -> Result<Self, ConditionError> {
        text.parse()
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.to_string()
    }
}
