//! Words of a line as a shell splits them: by spaces, with quotes and backslashes. Nothing is put in for anything.

/// The words of `line` up to a comment, or why there are none.
pub(super) fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '#' if word.is_none() => break,
            _ if letter.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => quoted(&mut letters, letter, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(letters.next().ok_or("it ends in a backslash")?),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(letters: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<(), &'static str> {
    const OPEN: &str = "a quote is not closed";
    loop {
        match letters.next().ok_or(OPEN)? {
            letter if letter == quote => return Ok(()),
            '\\' if quote == '"' => word.push(letters.next().ok_or(OPEN)?),
            letter => word.push(letter),
        }
    }
}
