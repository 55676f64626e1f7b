//! Pieces of a source: code, comments and literals, by as much of Rust's grammar as reading for a rule takes.

/// Kind of a piece of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Code,
    Comment,
    /// A literal of characters, with its quotes.
    Literal,
}

/// The pieces of a source, in order; all together they are the source.
pub fn pieces(text: &str) -> Vec<(Kind, &str)> {
    let mut pieces = Vec::new();
    let (mut rest, mut code) = (text, 0);
    while let Some(first) = rest[code..].chars().next() {
        let (before, here) = rest.split_at(code);
        let raw = || raw_string(here).filter(|_| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        let found = match first {
            '/' if here.starts_with("//") => Some((Kind::Comment, here.find('\n').unwrap_or(here.len()))),
            '/' if here.starts_with("/*") => Some((Kind::Comment, block_comment(here))),
            '"' => Some((Kind::Literal, quoted(here))),
            'r' => raw().map(|length| (Kind::Literal, length)),
            '\'' => character(here).map(|length| (Kind::Literal, length)),
            _ => None,
        };
        let Some((kind, length)) = found else {
            code += first.len_utf8();
            continue;
        };
        let (piece, tail) = here.split_at(length);
        pieces.extend([(Kind::Code, before), (kind, piece)]);
        (rest, code) = (tail, 0);
    }
    pieces.push((Kind::Code, rest));
    pieces
}

/// The text with every comment and the content of every literal blanked, line by line as before.
pub fn code_of(text: &str) -> String {
    let blank = |c| if c == '\n' { '\n' } else { ' ' };
    let piece = |(kind, piece): (Kind, &str)| match kind {
        Kind::Code => piece.to_owned(),
        _ => piece.chars().map(blank).collect(),
    };
    pieces(text).into_iter().map(piece).collect()
}

/// Length of a block comment, which may hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        match rest {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Length of a string literal with its quotes.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// Length of a raw string literal; `None` where none begins.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
    let open = 1 + hashes;
    text[open..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(text[open + 1..].find(&close).map_or(text.len(), |at| open + 1 + at + close.len()))
}

/// Length of a character literal; `None` where the quote opens a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        let (_, _escaped) = chars.next()?;
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
}

#[test]
fn comments_and_literals_are_no_code() {
    assert_eq!(code_of("a /* b /* c */ d */ e").trim_end(), "a                   e");
    assert_eq!(code_of("a \"b\\\" //c\" d"), "a           d");
    assert_eq!(code_of("f(r#\"a\"b\"#, x)"), "f(        , x)");
    assert_eq!(code_of("'\"' + '\\'' + 'a: &'a str"), "    +      + 'a: &'a str");
    assert_eq!(code_of("\"é\nb\" // é\nc"), "  \n       \nc", "lines stay where they are");
}

#[test]
fn the_pieces_are_the_source() {
    let text = "let a = \"é\\\"\"; // b\nr#\"c\"# + ar\"d\" /* e */ 'f' 'g: h";
    let found = pieces(text);
    assert_eq!(found.iter().map(|(_, piece)| *piece).collect::<String>(), text);
    let of = |kind| found.iter().filter(|(is, _)| *is == kind).map(|(_, piece)| *piece).collect::<Vec<_>>();
    assert_eq!(of(Kind::Literal), ["\"é\\\"\"", "r#\"c\"#", "\"d\"", "'f'"]);
    assert_eq!(of(Kind::Comment), ["// b", "/* e */"]);
}
