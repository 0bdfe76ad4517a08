//! Decoding of the start of a text in every possible encoding, because the encoding of the text is unknown.

/// First bytes of escapes, and of characters that may be misread bytes.
pub(super) const SIGNS: [u8; 6] = [b'%', b'+', b'\\', b'&', 0xc2, 0xc3];

/// Maximum length of an entity without `&`, in bytes: `#128512;`.
pub(super) const LONGEST_NAME: usize = 8;

/// Maximum number of nested encodings.
const LAYERS: usize = 3;
/// Maximum number of digits of a numeric entity, including leading zeros.
const DIGITS: usize = 8;

const ESCAPES: [(u8, char); 8] = [
    (b'"', '"'),
    (b'\'', '\''),
    (b'/', '/'),
    (b'b', '\u{8}'),
    (b'f', '\u{c}'),
    (b'n', '\n'),
    (b'r', '\r'),
    (b't', '\t'),
];
const ENTITIES: [(&[u8], char); 5] =
    [(b"amp;", '&'), (b"lt;", '<'), (b"gt;", '>'), (b"quot;", '"'), (b"apos;", '\'')];

/// A part of a text that encodes one byte or character.
pub(super) struct SpellingUnit {
    means: Means,
    /// Length in the text, in bytes.
    pub(super) length: usize,
}

enum Means {
    Byte(u8),
    Char(char),
}

impl SpellingUnit {
    fn byte(byte: u8, length: usize) -> Self {
        Self { means: Means::Byte(byte), length }
    }

    fn char(char: char, length: usize) -> Self {
        Self { means: Means::Char(char), length }
    }

    /// Returns the possible numbers of bytes of `due` (the rest of the secret) that this unit encodes; empty
    /// without a match.
    pub(super) fn covers(&self, due: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let (whole, single) = match self.means {
            Means::Byte(byte) => (None, due.first() == Some(&byte)),
            Means::Char(char) => {
                let mut buffer = [0; 4];
                let bytes = char.encode_utf8(&mut buffer).as_bytes();
                // A byte that was decoded as a Latin-1 character, as happens in headers.
                let misread = u8::try_from(char).is_ok_and(|byte| due.first() == Some(&byte));
                (due.starts_with(bytes).then_some(bytes.len()), misread)
            }
        };
        whole.into_iter().chain(single.then_some(1))
    }
}

/// Returns all decodings of the start of a text.
pub(super) fn units(text: &[u8]) -> Vec<SpellingUnit> {
    let Some((&first, rest)) = text.split_first() else { return Vec::new() };
    let mut units = vec![SpellingUnit::byte(first, 1)];
    match first {
        b'%' => percent(rest, &mut units),
        b'+' => units.push(SpellingUnit::byte(b' ', 1)),
        b'\\' => escape(text, &mut units),
        b'&' => entity(rest, &mut units),
        0xc2 | 0xc3 => {
            let low = rest.first().map(|second| char::from(second & 0x3f | first << 6));
            units.extend(low.map(|char| SpellingUnit::char(char, 2)));
        }
        _ => {}
    }
    units
}

/// Decodes `%41`, `%2541`, …, without the first sign.
fn percent(rest: &[u8], units: &mut Vec<SpellingUnit>) {
    let mut text = rest;
    for layer in 0..LAYERS {
        let byte = text.get(..2).and_then(hex).and_then(|code| u8::try_from(code).ok());
        units.extend(byte.map(|byte| SpellingUnit::byte(byte, 3 + 2 * layer)));
        let Some(further) = text.strip_prefix(b"25") else { return };
        text = further;
    }
}

/// Decodes `\"` and `\u0041`, also in nested JSON texts with more backslashes.
fn escape(text: &[u8], units: &mut Vec<SpellingUnit>) {
    let slashes = text.iter().take(1 << LAYERS).take_while(|byte| **byte == b'\\').count();
    units
        .extend([2, 4, 8].into_iter().filter(|run| *run <= slashes).map(|run| SpellingUnit::char('\\', run)));
    let after = text.get(slashes..).unwrap_or_default();
    let Some((sign, code)) = after.split_first() else { return };
    let simple = ESCAPES.iter().find(|(escape, _)| escape == sign);
    units.extend(simple.map(|(_, char)| SpellingUnit::char(*char, slashes + 1)));
    if *sign == b'u' {
        let Some(high) = code.get(..4).and_then(hex) else { return };
        if let Some(char) = char::from_u32(high) {
            units.push(SpellingUnit::char(char, slashes + 5));
            return;
        }
        let second = code.get(4..).unwrap_or_default();
        let again = second.iter().take_while(|byte| **byte == b'\\').count();
        let low = second.get(again..).and_then(|text| text.strip_prefix(b"u")).and_then(|text| text.get(..4));
        let pair = low.and_then(hex).filter(|low| (0xdc00..0xe000).contains(low) && high < 0xdc00);
        let char = pair.and_then(|low| char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
        units.extend(char.map(|char| SpellingUnit::char(char, slashes + 5 + again + 5)));
    }
}

/// Decodes `&amp;`, `&#38;`, `&#x26;`, `&amp;amp;`, …, without the first sign.
fn entity(rest: &[u8], units: &mut Vec<SpellingUnit>) {
    let (mut text, mut before) = (rest, 1);
    for _ in 0..LAYERS {
        let named = ENTITIES.iter().find(|(name, _)| text.starts_with(name));
        let entity = named.map(|(name, char)| (*char, name.len())).or_else(|| decode_numeric(text));
        units.extend(entity.map(|(char, length)| SpellingUnit::char(char, before + length)));
        let Some(further) = text.strip_prefix(b"amp;") else { return };
        (text, before) = (further, before + 4);
    }
}

/// Decodes `#38;` and `#x26;`.
fn decode_numeric(text: &[u8]) -> Option<(char, usize)> {
    let number = text.strip_prefix(b"#")?;
    let hexadecimal = number.strip_prefix(b"x").or_else(|| number.strip_prefix(b"X"));
    let (digits, radix) = hexadecimal.map_or((number, 10), |digits| (digits, 16));
    let length = digits.iter().take(DIGITS + 1).position(|byte| *byte == b';')?;
    let code = number_of(digits.get(..length)?, radix)?;
    char::from_u32(code).map(|char| (char, text.len() - digits.len() + length + 1))
}

fn hex(digits: &[u8]) -> Option<u32> {
    number_of(digits, 16)
}

fn number_of(digits: &[u8], radix: u32) -> Option<u32> {
    let value =
        |sum: u32, digit: &u8| sum.checked_mul(radix)?.checked_add(char::from(*digit).to_digit(radix)?);
    if digits.is_empty() { None } else { digits.iter().try_fold(0, value) }
}
