//! One sample, and the line of it.

use std::collections::BTreeMap;

use logbook::moment::Moment;
use serde_json::{Map, Value};
use uuid::Uuid;

/// One number of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The benchmark's name.
    pub test: &'static str,
    /// The metric.
    pub metric: String,
    /// The number, in `unit`.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Further metadata, by name.
    pub metadata: BTreeMap<String, String>,
    /// Time of the measurement, seconds since 1970 in UTC.
    pub timestamp: f64,
}

/// The publisher, and its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// The owner.
    pub owner: String,
    /// The name of the program in each row.
    pub product_name: String,
    /// True where the numbers are called official.
    pub official: bool,
    /// The run's name, to which its UUID is hung; `None`: the first digits of that.
    pub run_uri: Option<String>,
    /// True where further metadata is one string of labels, as `PerfKit` Benchmarker writes it unless told otherwise; otherwise it is an object.
    pub collapse_labels: bool,
    /// Metadata of every sample, in place of what it has of that name, as `PerfKit` Benchmarker puts it there.
    pub metadata: BTreeMap<String, String>,
}

impl Default for Publisher {
    fn default() -> Self {
        Self {
            owner: String::new(),
            product_name: "sonde".to_owned(),
            official: false,
            run_uri: None,
            collapse_labels: true,
            metadata: BTreeMap::new(),
        }
    }
}

impl Publisher {
    /// Puts its metadata into each sample.
    pub fn label(&self, samples: &mut [Sample]) {
        for sample in samples {
            sample.metadata.extend(self.metadata.clone());
        }
    }

    /// The line of `sample`, the `number`-th of `run`, with its line end: the same run has the same names of samples each time.
    pub fn line(&self, sample: &Sample, run: Uuid, number: usize) -> String {
        let digits = || run.simple().to_string().chars().take(12).collect();
        let uri = self.run_uri.clone().unwrap_or_else(digits);
        let name = Uuid::from_u128(run.as_u128() ^ number as u128);
        // In their order, which readers that split lines may count on.
        let mut fields = vec![
            ("metric", Value::from(sample.metric.as_str())),
            ("value", Value::from(sample.value)),
            ("unit", Value::from(sample.unit)),
            ("timestamp", Value::from(sample.timestamp)),
            ("test", Value::from(sample.test)),
            ("product_name", Value::from(self.product_name.as_str())),
            ("official", Value::from(self.official)),
            ("owner", Value::from(self.owner.as_str())),
            ("run_uri", Value::from(format!("{uri}-{run}"))),
            ("sample_uri", Value::from(name.to_string())),
        ];
        if self.collapse_labels {
            fields.push(("labels", Value::from(labels(&sample.metadata))));
        } else {
            let metadata: Map<String, Value> =
                sample.metadata.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
            fields.push(("metadata", Value::Object(metadata)));
        }
        let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{{}}}\n", fields.join(", "))
    }
}

/// `|k:v|,|k2:v2|`, by name; what parts them is in no value.
fn labels(metadata: &BTreeMap<String, String>) -> String {
    let label = |(name, value): (&String, &String)| {
        format!("|{}:{}|", name.replace(['|', ':'], "_"), value.replace('|', "¦").replace(['\n', '\r'], " "))
    };
    metadata.iter().map(label).collect::<Vec<_>>().join(",")
}

/// Seconds since 1970.
pub(super) fn seconds(moment: Moment) -> f64 {
    let at = moment.timestamp();
    at.as_second() as f64 + f64::from(at.subsec_nanosecond()) / 1e9
}
