//! Messages without the values that differ from failure to failure.

/// The characters that a normalised message keeps at most.
const MOST_CHARACTERS: usize = 300;

/// The characters of a message that are read at most.
const MOST_READ: usize = 2_000;

/// Stands for a number.
const NUMBER: char = '#';
/// Stands for an id.
const ID: &str = "<id>";
/// Stands for the text between two quotation marks.
const QUOTED: char = '…';

/// Length from which on a word of letters and digits is an id rather than a name such as `sha256`.
const SHORTEST_ID: usize = 8;

/// Returns the message with ids, numbers other than `status`, and quoted texts replaced, and cut to a bounded length.
pub fn normalise_message(message: &str, status: Option<u16>) -> String {
    let status = status.map(|status| status.to_string());
    let characters: Vec<char> = message.chars().take(MOST_READ).collect();
    let mut out = String::new();
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        if let Some(end) = closing_quote(&characters, at) {
            out.extend([character, QUOTED, character]);
            at = end + 1;
        } else if character.is_whitespace() || character.is_control() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
            at += 1;
        } else if is_of_word(character) {
            let length = characters.iter().skip(at).take_while(|character| is_of_word(**character)).count();
            let word: String = characters.iter().skip(at).take(length).collect();
            push_word(&word, status.as_deref(), &mut out);
            at += length;
        } else {
            out.push(character);
            at += 1;
        }
    }
    let text = out.trim_end();
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => text.get(..end).unwrap_or(text).to_owned(),
        None => text.to_owned(),
    }
}

/// Returns the place of the mark that ends the quotation which begins at `at`, if one does. An apostrophe within a word is
/// no mark.
fn closing_quote(characters: &[char], at: usize) -> Option<usize> {
    let mark = characters.get(at).copied().filter(|character| matches!(character, '"' | '\'' | '`'))?;
    let is_letter =
        |place: Option<usize>| place.and_then(|at| characters.get(at)).is_some_and(|c| c.is_alphanumeric());
    if mark == '\'' && is_letter(at.checked_sub(1)) {
        return None;
    }
    let ends = |place: &usize| {
        let is_escaped = characters.get(place - 1) == Some(&'\\');
        characters.get(*place) == Some(&mark)
            && !is_escaped
            && (mark != '\'' || !is_letter(place.checked_add(1)))
    };
    (at + 1..characters.len()).find(ends)
}

/// Returns `true` for a character of a word: ids are written with hyphens and underscores.
fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_')
}

fn push_word(word: &str, status: Option<&str>, out: &mut String) {
    if is_uuid(word) {
        return out.push_str(ID);
    }
    for part in word.split_inclusive(['-', '_']) {
        let name = part.trim_end_matches(['-', '_']);
        if status == Some(name) {
            out.push_str(name);
        } else if is_id(name) {
            out.push_str(ID);
        } else {
            push_without_numbers(name, out);
        }
        out.push_str(part.get(name.len()..).unwrap_or_default());
    }
}

fn is_uuid(word: &str) -> bool {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// Returns `true` for a long word in which letters and digits are mixed: hexadecimal, or with several changes from one
/// to the other.
fn is_id(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    if word.chars().count() < SHORTEST_ID || digits == 0 || word.chars().all(|c| c.is_ascii_digit()) {
        return false;
    }
    let kinds: Vec<bool> = word.chars().map(|c| c.is_ascii_digit()).collect();
    let changes = kinds.windows(2).filter(|pair| pair.first() != pair.last()).count();
    changes >= 2 || word.chars().all(|c| c.is_ascii_hexdigit())
}

/// Appends a word, each number in it as one mark. A decimal number, and an address of numbers, is one number.
fn push_without_numbers(word: &str, out: &mut String) {
    let mut in_number = false;
    for (index, character) in word.chars().enumerate() {
        if !character.is_ascii_digit() {
            in_number = false;
            out.push(character);
        } else if !in_number {
            in_number = true;
            let continues = index == 0 && ["#.", "#,"].iter().any(|end| out.ends_with(end));
            if continues {
                let _separator = out.pop();
            } else {
                out.push(NUMBER);
            }
        }
    }
}
