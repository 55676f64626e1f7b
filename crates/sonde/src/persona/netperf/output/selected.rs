//! Values that `-o`, `-O` and `-k` select, in their three forms.

use crate::persona::netperf::options::form::{Form, Selection};
use crate::persona::netperf::selection;
use crate::persona::netperf::selector::{HEADER_LINES, Selector};
use crate::persona::netperf::view::View;

/// The selection's text; that of columns with the default selection where none was asked for.
pub fn text(view: &View<'_>) -> String {
    let (form, default) = (&view.options.display.form, Selection::Default);
    let selection = form.selection().unwrap_or(&default);
    let measured = view.options.cpu.local.is_some() || view.options.cpu.remote.is_some();
    let blocks = selection::blocks(selection, view.options.data.direction, measured);
    match form {
        Form::Csv(_) => csv(view, &blocks.concat()),
        Form::Keyval(_) => keyval(view, &blocks.concat()),
        Form::Human(_) | Form::Classic => {
            blocks.iter().map(|block| columns(view, block)).collect::<Vec<_>>().join("\n")
        }
    }
}

fn keyval(view: &View<'_>, selectors: &[Selector]) -> String {
    let line = |selector: &Selector| Some(format!("{}={}\n", selector.name(), selector.value(view)?));
    selectors.iter().filter_map(line).collect()
}

fn csv(view: &View<'_>, selectors: &[Selector]) -> String {
    let mut text = String::new();
    if view.options.display.headers {
        text.push_str(&selectors.iter().map(|selector| selector.header()).collect::<Vec<_>>().join(","));
        text.push('\n');
    }
    // A cell without a value leaves a blank behind its comma.
    let mut comma = "";
    for selector in selectors {
        let value = selector.value(view);
        text.extend([comma, value.as_deref().unwrap_or_default()]);
        comma = if value.is_some() { "," } else { ", " };
    }
    text + "\n"
}

/// Each column is as wide as its longest word and its value with a blank, and one blank more.
fn columns(view: &View<'_>, selectors: &[Selector]) -> String {
    let values: Vec<Option<String>> = selectors.iter().map(|selector| selector.value(view)).collect();
    let widths: Vec<usize> =
        selectors.iter().zip(&values).map(|(selector, value)| width(*selector, value.as_deref())).collect();
    let line = |cells: Vec<&str>| {
        let padded = |(cell, width): (&str, &usize)| format!("{cell:<width$} ");
        cells.into_iter().zip(&widths).map(padded).collect::<String>() + "\n"
    };
    let mut text = String::new();
    if view.options.display.headers {
        for header in 0..HEADER_LINES {
            text.push_str(&line(selectors.iter().map(|selector| selector.header_line(header)).collect()));
        }
    }
    text + &line(values.iter().map(|value| value.as_deref().unwrap_or_default()).collect())
}

fn width(selector: Selector, value: Option<&str>) -> usize {
    let words = (0..HEADER_LINES).map(|line| selector.header_line(line).len()).max().unwrap_or(0);
    words.max(value.map_or(0, |value| value.len() + 1))
}
