//! Header lines that are too long for a mail server, folded at their blanks (RFC 5322, 2.1.1 and 2.2.3).

/// Octets of a line at most, its end not counted.
const LONGEST: usize = 998;
/// Octets of a folded line, if blanks permit.
const TARGET_LENGTH: usize = 78;

/// A mail without header lines that are too long.
///
/// # Errors
/// The name of a header with a word that no line holds.
pub(super) fn fold_headers(mail: &[u8]) -> Result<Vec<u8>, String> {
    let end = mail.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(mail.len());
    let (head, body) = mail.split_at(end);
    let mut written = Vec::with_capacity(mail.len());
    let mut name: &[u8] = &[];
    for (n, line) in head.split(|byte| *byte == b'\n').enumerate() {
        if n > 0 {
            written.extend_from_slice(b"\r\n");
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.first().copied().is_some_and(is_blank) {
            name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        }
        if line.len() <= LONGEST {
            written.extend_from_slice(line);
            continue;
        }
        for (n, part) in split_for_folding(line).into_iter().enumerate() {
            if part.len() > LONGEST {
                return Err(String::from_utf8_lossy(name).into_owned());
            }
            if n > 0 {
                written.extend_from_slice(b"\r\n");
            }
            written.extend_from_slice(part);
        }
    }
    written.extend_from_slice(body);
    Ok(written)
}

/// A line in parts; all but the first begin with a blank, none is blank.
fn split_for_folding(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while rest.len() > TARGET_LENGTH {
        let words = rest.windows(2).enumerate().filter(|(_, pair)| is_blank(pair[0]) && !is_blank(pair[1]));
        // A blank before the first word is the one this line was folded at.
        let first_word_at = rest.iter().position(|byte| !is_blank(*byte)).unwrap_or_default();
        let mut breaks = words.map(|(at, _)| at).filter(|at| *at > first_word_at);
        let Some(first) = breaks.next() else { break };
        let at = breaks.take_while(|at| *at <= TARGET_LENGTH).last().unwrap_or(first);
        let (part, remainder) = rest.split_at(at);
        parts.push(part);
        rest = remainder;
    }
    parts.push(rest);
    parts
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fold_head(head: &str) -> Result<String, String> {
        let mail = format!("{head}\r\n\r\n{}\r\n", "long body ".repeat(200));
        let folded = String::from_utf8(fold_headers(mail.as_bytes())?).unwrap();
        let (head, body) = folded.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, format!("{}\r\n", "long body ".repeat(200)), "a body is left alone");
        Ok(head.to_owned())
    }

    #[test]
    fn lines_that_servers_take_stay_as_they_are() {
        let head = format!("Subject: a  b\r\nTo: {}x\r\nX: y", "a ".repeat(490));
        assert_eq!(fold_head(&head).unwrap(), head);
    }

    #[test]
    fn long_line_is_folded_at_blanks_without_loss() {
        let head = format!("From: a\r\nTo: {}\r\nX: y", vec!["a@example.com"; 300].join(", "));
        let folded = fold_head(&head).unwrap();
        assert!(folded.split("\r\n").all(|line| line.len() <= TARGET_LENGTH), "{folded}");
        assert_eq!(folded.replace("\r\n a@", " a@"), head);
    }

    #[test]
    fn word_longer_than_a_line_names_its_header() {
        let word = "x".repeat(1000);
        for head in [format!("From: a\r\nSubject: b {word} c"), format!("Subject: a\r\n b\r\n {word}")] {
            assert_eq!(fold_head(&head), Err("Subject".to_owned()));
        }
    }

    proptest! {
        #[test]
        fn unfolding_gives_back_what_was_written(words in prop::collection::vec("[a-z]{1,90}", 1..60), blanks in "[ \t]{1,3}") {
            let head = format!("X-Y: {}", words.join(&blanks));
            let folded = fold_head(&head).unwrap();
            prop_assert_eq!(folded.replace("\r\n", ""), head);
            prop_assert!(folded.split("\r\n").all(|line| line.len() <= LONGEST && !line.trim().is_empty()));
        }
    }
}
