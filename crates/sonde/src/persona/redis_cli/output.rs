//! The text of redis-cli's latency modes, from plain values.

use std::fmt::Write;

use measure::unit::Nanos;

use crate::persona::redis_cli::options::Form;

/// Figures of an interval, or of all samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Samples.
    pub count: u64,
    shortest: Nanos,
    longest: Nanos,
    sum: u128,
}

impl Figures {
    /// Takes a sample.
    pub fn take(&mut self, time: Nanos) {
        self.shortest = if self.count == 0 { time } else { self.shortest.min(time) };
        self.longest = self.longest.max(time);
        self.sum += u128::from(time.0);
        self.count += 1;
    }

    /// Their text; nothing where there is no sample. Shortest and longest are whole milliseconds, as the original has them; the mean is that
    /// of the exact times.
    pub fn text(&self, form: Form) -> String {
        if self.count == 0 {
            return String::new();
        }
        let (min, max, count) = (self.shortest.0 / 1_000_000, self.longest.0 / 1_000_000, self.count);
        let mean = self.sum as f64 / count as f64 / 1e6;
        match form {
            Form::Standard => format!("\u{1b}[0G\u{1b}[2Kmin: {min}, max: {max}, avg: {mean:.2} ({count} samples)"),
            Form::Raw => format!("{min} {max} {mean:.2} {count}\n"),
            Form::Csv => format!("{min},{max},{mean:.2},{count}\n"),
        }
    }
}

/// The end of an interval of `--latency-history`.
pub fn range(length: Nanos) -> String {
    format!(" -- {:.2} seconds range\n", length.0 as f64 / 1e9)
}

/// Bins of the spectrum: the longest time in microseconds, and the sign. A time longer than all has the last sign.
const BINS: [(u64, char); 28] = [
    (10, '.'),
    (125, '-'),
    (250, '*'),
    (500, '#'),
    (1_000, '1'),
    (2_000, '2'),
    (3_000, '3'),
    (4_000, '4'),
    (5_000, '5'),
    (6_000, '6'),
    (7_000, '7'),
    (8_000, '8'),
    (9_000, '9'),
    (10_000, 'A'),
    (20_000, 'B'),
    (30_000, 'C'),
    (40_000, 'D'),
    (50_000, 'E'),
    (100_000, 'F'),
    (200_000, 'G'),
    (300_000, 'H'),
    (400_000, 'I'),
    (500_000, 'J'),
    (1_000_000, 'K'),
    (2_000_000, 'L'),
    (4_000_000, 'M'),
    (8_000_000, 'N'),
    (16_000_000, 'O'),
];
/// The rest of them.
const LONG_BINS: [(u64, char); 3] = [(30_000_000, 'P'), (60_000_000, 'Q'), (u64::MAX, '?')];
/// Colours of xterm from none to all.
const PALETTE: [u8; 19] = [0, 233, 234, 235, 237, 239, 241, 243, 245, 247, 144, 143, 142, 184, 226, 214, 208, 202, 196];
/// Lines of the spectrum below one legend.
const LINES: u64 = 20;

fn bins() -> impl Iterator<Item = (u64, char)> {
    BINS.into_iter().chain(LONG_BINS)
}

/// Counts of an interval by length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spectrum {
    counts: [u64; BINS.len() + LONG_BINS.len()],
    lines: u64,
}

impl Spectrum {
    /// Takes a sample.
    pub fn take(&mut self, time: Nanos) {
        let place = bins().position(|(longest, _)| time.0 <= longest.saturating_mul(1_000));
        if let Some(count) = place.and_then(|place| self.counts.get_mut(place)) {
            *count += 1;
        }
    }

    /// The line of the interval, below the legend where that is due; the counts begin anew.
    pub fn line(&mut self) -> String {
        let mut text = if self.lines.is_multiple_of(LINES) { legend() } else { String::new() };
        self.lines += 1;
        let counts = std::mem::take(&mut self.counts);
        let all: u64 = counts.iter().sum();
        text.push_str("\u{1b}[38;5;0m");
        for ((_, sign), count) in bins().zip(counts) {
            let last = PALETTE.len() as u64 - 1;
            let colour = (count * last).checked_add(all.saturating_sub(1)).and_then(|sum| sum.checked_div(all));
            let colour = PALETTE[colour.unwrap_or(0).min(last) as usize];
            let _ = write!(text, "\u{1b}[48;5;{colour}m{sign}");
        }
        text + "\u{1b}[0m\n"
    }
}

fn legend() -> String {
    let rule = "-".repeat(45);
    let mut colours = String::new();
    for colour in PALETTE {
        let _ = write!(colours, "\u{1b}[48;5;{colour}m ");
    }
    format!(
        "{rule}\n\
         . - * #          .01 .125 .25 .5 milliseconds\n\
         1,2,3,...,9      from 1 to 9     milliseconds\n\
         A,B,C,D,E        10,20,30,40,50  milliseconds\n\
         F,G,H,I,J        .1,.2,.3,.4,.5       seconds\n\
         K,L,M,N,O,P,Q,?  1,2,4,8,16,30,60,>60 seconds\n\
         From 0 to 100%: {colours}\u{1b}[0m\n{rule}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(micros: &[u64]) -> Figures {
        let mut figures = Figures::default();
        for time in micros {
            figures.take(Nanos::micros(*time));
        }
        figures
    }

    #[test]
    fn figures_have_the_forms_of_the_original() {
        let figures = of(&[200, 1_900, 300]);
        assert_eq!(figures.text(Form::Raw), "0 1 0.80 3\n");
        assert_eq!(figures.text(Form::Csv), "0,1,0.80,3\n");
        assert_eq!(figures.text(Form::Standard), "\u{1b}[0G\u{1b}[2Kmin: 0, max: 1, avg: 0.80 (3 samples)");
        assert_eq!(Figures::default().text(Form::Raw), "", "no sample, no figure");
        assert_eq!(range(Nanos::millis(1_006)), " -- 1.01 seconds range\n");
    }

    /// Each sign with its colour.
    fn cells(line: &str) -> Vec<(char, u8)> {
        let cells = line.trim_start_matches("\u{1b}[38;5;0m").split("\u{1b}[48;5;").skip(1);
        cells
            .map(|cell| {
                let (colour, sign) = cell.split_once('m').unwrap();
                (sign.chars().next().unwrap(), colour.parse().unwrap())
            })
            .collect()
    }

    #[test]
    fn a_line_has_a_sign_for_each_length() {
        let mut spectrum = Spectrum::default();
        let first = spectrum.line();
        assert_eq!(first.lines().count(), 9, "the legend and a line");
        for time in [10, 11, 125, 126] {
            spectrum.take(Nanos::micros(time));
        }
        spectrum.take(Nanos::secs(61));
        let line = spectrum.line();
        let cells = cells(&line);
        let signs: String = cells.iter().map(|(sign, _)| *sign).collect();
        assert_eq!(signs, ".-*#123456789ABCDEFGHIJKLMNOPQ?");
        let lit: Vec<_> = cells.into_iter().filter(|(_, colour)| *colour > 0).collect();
        // A fifth of 18 steps, rounded up, is the fourth colour; two fifths the eighth.
        assert_eq!(lit, [('.', 237), ('-', 245), ('*', 237), ('?', 237)]);
        assert!(line.ends_with("\u{1b}[0m\n"));
    }

    #[test]
    fn the_legend_comes_again_after_twenty_lines() {
        let mut spectrum = Spectrum::default();
        let lines: Vec<usize> = (0..41).map(|_| spectrum.line().lines().count()).collect();
        let legends: Vec<usize> = lines.iter().enumerate().filter(|(_, lines)| **lines > 1).map(|(at, _)| at).collect();
        assert_eq!(legends, [0, 20, 40]);
    }
}
