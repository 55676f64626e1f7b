//! Samples of a run for a benchmark, which `report` makes.

use std::collections::{BTreeMap, HashMap};

use logbook::record::Record;
use report::samples::pkb::{self, Benchmark, Publisher, Telling};
use uuid::Uuid;

use crate::persona::pkb::ask::{Ask, Measurement, Metrics, Row};
use crate::persona::pkb::carry_out::{Carried, Samples};

/// The samples that `ask` is for.
pub fn of(ask: &Ask, carried: &Carried) -> Samples {
    let told = |asked: &Measurement| (asked.method.clone(), telling(asked, ask.repeats_of_a_run));
    let tellings: BTreeMap<String, Telling> = ask.measurements.iter().map(told).collect();
    let records: HashMap<Uuid, &Record> = carried.records.iter().map(|record| (record.head.id, record)).collect();
    let publisher = publisher(ask);
    let run = &carried.run;
    let mut samples = pkb::samples(run, &tellings, &|id| records.get(&id).copied().cloned());
    publisher.label(&mut samples);
    let lines = samples.iter().enumerate().map(|(at, sample)| publisher.line(sample, run.head.id, at + 1)).collect();
    let rows = samples.into_iter().map(|sample| Row {
        test: sample.test.to_owned(),
        metric: sample.metric,
        value: sample.value,
        unit: sample.unit.to_owned(),
        metadata: sample.metadata,
    });
    Samples { lines, rows: rows.collect() }
}

fn publisher(ask: &Ask) -> Publisher {
    Publisher {
        owner: ask.owner.clone(),
        product_name: ask.product_name.clone(),
        official: ask.official,
        run_uri: Some(ask.run_uri.clone()),
        collapse_labels: ask.collapse_labels,
        metadata: ask.metadata.clone(),
    }
}

fn telling(asked: &Measurement, repeats_of_a_run: u32) -> Telling {
    let (benchmark, histogram, series) = match &asked.metrics {
        Metrics::Ping => (Benchmark::Ping, None, false),
        Metrics::Netperf { histogram, .. } => (Benchmark::Netperf, histogram.as_ref(), false),
        Metrics::IperfTcp { series } => (Benchmark::Iperf, None, *series),
        Metrics::IperfUdp => (Benchmark::Iperf, None, false),
        Metrics::Bidirectional => (Benchmark::BidirectionalNetwork, None, false),
        Metrics::MeshLatency | Metrics::MeshThroughput => (Benchmark::MeshNetwork, None, false),
    };
    let histogram =
        histogram.map(|asked| pkb::Histogram { buckets: asked.buckets, percentiles: asked.percentiles.clone() });
    Telling { benchmark, histogram, series, repeats_of_a_run, metadata: asked.metadata.clone() }
}
