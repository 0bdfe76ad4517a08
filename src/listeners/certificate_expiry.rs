//! The end of the validity of a certificate, read from its DER: TLS itself has no use for that of the server.

use chrono::NaiveDateTime;

/// Tag of the version, which may be left out.
const VERSION: u8 = 0xa0;
/// Tag of a time with a year of two digits.
const UTC_TIME: u8 = 0x17;
/// Tag of a time with a year of four digits.
const GENERALIZED_TIME: u8 = 0x18;
/// Fields between the version and the validity: serial number, algorithm and issuer.
const FIELDS_BEFORE: usize = 3;

/// Returns the end of the validity of a certificate, in seconds of Unix time; `None` if it cannot be read.
pub(crate) fn read_expiry(certificate: &[u8]) -> Option<i64> {
    let signed = DerElement::read(certificate)?.content;
    let mut fields = DerElement::read(signed)?.content;
    let first = DerElement::read(fields)?;
    if first.tag == VERSION {
        fields = first.rest;
    }
    for _ in 0..FIELDS_BEFORE {
        fields = DerElement::read(fields)?.rest;
    }
    let validity = DerElement::read(fields)?.content;
    let not_after = DerElement::read(DerElement::read(validity)?.rest)?;
    parse_time(&not_after)
}

/// An element of DER and what follows it.
struct DerElement<'d> {
    tag: u8,
    content: &'d [u8],
    rest: &'d [u8],
}

impl<'d> DerElement<'d> {
    fn read(data: &'d [u8]) -> Option<Self> {
        let (&tag, data) = data.split_first()?;
        let (&first, data) = data.split_first()?;
        let (length, data) = match first {
            0..=0x7f => (usize::from(first), data),
            0x81..=0x84 => {
                let (bytes, data) = data.split_at_checked(usize::from(first & 0x7f))?;
                (bytes.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)), data)
            }
            _ => return None,
        };
        let (content, rest) = data.split_at_checked(length)?;
        Some(Self { tag, content, rest })
    }
}

fn parse_time(time: &DerElement<'_>) -> Option<i64> {
    let text = std::str::from_utf8(time.content).ok()?;
    let text = match time.tag {
        // Years from 50 on are of the last century.
        UTC_TIME => format!("{}{text}", if text < "5" { "20" } else { "19" }),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let time = NaiveDateTime::parse_from_str(&text, "%Y%m%d%H%M%SZ").ok()?;
    Some(time.and_utc().timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        let head = match content.len() {
            short @ 0..=0x7f => vec![tag, u8::try_from(short).unwrap()],
            _ => vec![tag, 0x82, length[0], length[1]],
        };
        [head.as_slice(), content].concat()
    }

    fn certificate(has_version: bool, tag: u8, not_after: &str) -> Vec<u8> {
        let validity = [element(UTC_TIME, b"240101000000Z"), element(tag, not_after.as_bytes())].concat();
        let version = if has_version { element(VERSION, &element(0x02, &[2])) } else { Vec::new() };
        let issuer = element(0x30, &[7; 300]);
        let fields =
            [version, element(0x02, &[1, 2]), element(0x30, &[]), issuer, element(0x30, &validity)].concat();
        element(0x30, &element(0x30, &fields))
    }

    #[test]
    fn expiry_is_read_from_either_form_of_time() {
        for (has_version, tag, not_after, expected) in [
            (true, UTC_TIME, "260102030405Z", Some(1_767_323_045)),
            (false, UTC_TIME, "991231235959Z", Some(946_684_799)),
            (true, GENERALIZED_TIME, "20500101000000Z", Some(2_524_608_000)),
            (true, GENERALIZED_TIME, "20501301000000Z", None),
            (true, 0x04, "20500101000000Z", None),
        ] {
            let read = read_expiry(&certificate(has_version, tag, not_after));
            assert_eq!(read, expected, "{not_after}");
        }
    }

    #[test]
    fn truncated_certificate_has_no_expiry() {
        let whole = certificate(true, UTC_TIME, "260102030405Z");
        for length in 0..whole.len() {
            assert_eq!(read_expiry(&whole[..length]), None, "{length}");
        }
        assert_eq!(read_expiry(&[0x30, 0x80, 0, 0]), None);
    }
}
