//! Fields that a client printed as `NAME=value`, or in other shapes that scripts read.

use std::collections::BTreeMap;

/// The selectors of one output and their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(BTreeMap<String, String>);

/// One interim result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interim {
    /// In the unit of the whole.
    pub rate: f64,
    /// Seconds.
    pub seconds: f64,
    /// Seconds since 1970.
    pub ending: f64,
}

impl Fields {
    /// All lines `NAME=value` of an output; those of interim results are not among them.
    pub fn of(stdout: &str) -> Self {
        let name = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_' || c == b'.')
        };
        let lines = stdout.lines().filter_map(|line| line.split_once('='));
        Self(lines.filter(|(key, _)| name(key)).map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// The text of a selector.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        self.0.get(name).map(String::as_str).ok_or_else(|| format!("{name} is not there"))
    }

    /// The number of a selector.
    pub fn number(&self, name: &str) -> Result<f64, String> {
        let text = self.text(name)?;
        let number: f64 = text.parse().map_err(|_| format!("{name}={text} is no number"))?;
        if number.is_finite() { Ok(number) } else { Err(format!("{name}={text} is no number")) }
    }

    /// The number of a selector, where it was asked for.
    pub fn optional(&self, name: &str) -> Result<Option<f64>, String> {
        if self.0.contains_key(name) { self.number(name).map(Some) } else { Ok(None) }
    }

    /// The same with one value changed.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut fields = self.clone();
        fields.0.insert(name.to_owned(), value.to_owned());
        fields
    }

    /// The selectors' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The interim results of an output of `-k`, in order.
pub fn interims(stdout: &str) -> Result<Vec<Interim>, String> {
    let mut interims: Vec<Interim> = Vec::new();
    let indexed = |line: &str, name: &str, index: usize| -> Option<f64> {
        line.strip_prefix(name)?.strip_prefix(&format!("[{index}]="))?.parse().ok()
    };
    let lines: Vec<&str> = stdout.lines().filter(|line| line.starts_with("NETPERF_")).collect();
    let mut results: Vec<&[&str]> = lines.chunks(4).collect();
    // The original's timer may pop while it prints: then the last one stands there twice.
    if stdout.contains("catcher: timer popped with times_up != 0") {
        results.dedup();
    }
    for (index, four) in results.into_iter().enumerate() {
        let [rate, units, seconds, ending] = four else { return Err(format!("{} lines of interims", lines.len())) };
        if !units.starts_with(&format!("NETPERF_UNITS[{index}]=")) {
            return Err(format!("no unit but {units}"));
        }
        let of = |line: &str, name| indexed(line, name, index).ok_or_else(|| format!("{line} is no {name}[{index}]"));
        interims.push(Interim {
            rate: of(rate, "NETPERF_INTERIM_RESULT")?,
            seconds: of(seconds, "NETPERF_INTERVAL")?,
            ending: of(ending, "NETPERF_ENDING")?,
        });
    }
    Ok(interims)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "TITLE from 0.0.0.0 () : demo\nNETPERF_INTERIM_RESULT[0]=28.38\nNETPERF_UNITS[0]=10^9bits/s\n\
                        NETPERF_INTERVAL[0]=0.500\nNETPERF_ENDING[0]=1795223915.178\nTHROUGHPUT=31.09\nA_B=\n\nUNIT_USEC : 1\n";

    #[test]
    fn a_result_that_the_original_printed_twice_is_one() {
        let result = &TEXT[TEXT.find("NETPERF_INTERIM").unwrap()..TEXT.find("THROUGHPUT").unwrap()];
        let twice = format!("{result}{result}");
        assert!(interims(&twice).is_err());
        let popped = format!("{twice}catcher: timer popped with times_up != 0\n");
        assert_eq!(interims(&popped).map(|interims| interims.len()), Ok(1));
    }

    #[test]
    fn selectors_are_read_and_interims_apart() {
        let fields = Fields::of(TEXT);
        assert_eq!(fields.names().collect::<Vec<_>>(), ["A_B", "THROUGHPUT"]);
        assert_eq!(fields.number("THROUGHPUT"), Ok(31.09));
        assert_eq!(fields.text("A_B"), Ok(""));
        assert!(fields.number("A_B").is_err() && fields.text("C").is_err());
        assert_eq!(fields.optional("C"), Ok(None));
        assert!(fields.with("A_B", "-nan").number("A_B").is_err());
        assert_eq!(interims(TEXT).unwrap(), [Interim { rate: 28.38, seconds: 0.5, ending: 1_795_223_915.178 }]);
    }

    #[test]
    fn interims_out_of_order_are_an_error() {
        assert!(interims(&TEXT.replace("[0]", "[1]")).is_err());
        assert!(interims(&TEXT.replace("NETPERF_UNITS[0]=10^9bits/s\n", "")).is_err());
    }
}
