//! The messages of the server, without the answers that the driver did not ask for.

use bytes::{BufMut, BytesMut};

use crate::link::PoolerLink;
use crate::outgoing::{HEADER, Preparation, RoundTrips};

const BACKEND_KEY_DATA: u8 = b'K';
const PARSE_COMPLETE: u8 = b'1';
const READY_FOR_QUERY: u8 = b'Z';
/// Bytes of the announced process.
const PROCESS: usize = 4;

/// The reader of a connection: its position in the messages of the server.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    header: [u8; HEADER],
    /// Bytes of the header that have arrived.
    arrived: usize,
    /// Bytes of the body that are still to come.
    body: usize,
    /// The announced process, as far as it has arrived, while its message is read.
    process: Option<Vec<u8>>,
}

impl Incoming {
    /// Follows messages that the driver has read, and takes the announced process out of them.
    pub(crate) fn observe(&mut self, mut bytes: &[u8], link: &PoolerLink) {
        while let Some((part, rest)) = self.next_part(bytes) {
            bytes = rest;
            match part {
                MessagePart::Header(kind) => {
                    self.process = (kind == BACKEND_KEY_DATA).then(Vec::new);
                }
                MessagePart::Body(body) => {
                    let Some(process) = &mut self.process else { continue };
                    process.extend(body.iter().take(PROCESS - process.len().min(PROCESS)));
                    if let Ok(process) = <[u8; PROCESS]>::try_from(process.as_slice()) {
                        link.announce(i32::from_be_bytes(process));
                    }
                }
            }
        }
    }

    /// Passes messages on, but for the answers to preparations that were put in.
    pub(crate) fn pass(&mut self, mut bytes: &[u8], trips: &mut RoundTrips, output: &mut BytesMut) {
        while let Some((part, rest)) = self.next_part(bytes) {
            bytes = rest;
            match part {
                MessagePart::Header(PARSE_COMPLETE)
                    if trips.answer_preparation() == Some(Preparation::Inserted) => {}
                MessagePart::Header(kind) => {
                    if kind == READY_FOR_QUERY {
                        trips.end();
                    }
                    output.put_slice(&self.header);
                }
                MessagePart::Body(body) => output.put_slice(body),
            }
        }
    }

    /// Returns the next whole header, or part of a body, and the bytes behind it.
    fn next_part<'b>(&mut self, bytes: &'b [u8]) -> Option<(MessagePart<'b>, &'b [u8])> {
        if self.body > 0 {
            let (part, rest) = bytes.split_at(bytes.len().min(self.body));
            self.body -= part.len();
            return (!part.is_empty()).then_some((MessagePart::Body(part), rest));
        }
        let (part, rest) = bytes.split_at(bytes.len().min(HEADER - self.arrived));
        for byte in part {
            if let Some(place) = self.header.get_mut(self.arrived) {
                *place = *byte;
            }
            self.arrived += 1;
        }
        if self.arrived < HEADER {
            return None;
        }
        self.arrived = 0;
        let [kind, length @ ..] = self.header;
        // The length counts itself.
        self.body = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX).saturating_sub(4);
        Some((MessagePart::Header(kind), rest))
    }
}

enum MessagePart<'b> {
    /// The header is complete; its kind.
    Header(u8),
    Body(&'b [u8]),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing::Outgoing;

    /// The messages of a server, in pieces of a length.
    fn pass(trips: &mut RoundTrips, bytes: &[u8], length: usize) -> Vec<u8> {
        let (mut incoming, mut output) = (Incoming::default(), BytesMut::new());
        bytes.chunks(length).for_each(|piece| incoming.pass(piece, trips, &mut output));
        assert_eq!((incoming.arrived, incoming.body), (0, 0), "between two messages");
        output.to_vec()
    }

    const PARSE: &[u8] = b"P\0\0\0\x10s1\0SELECT\0\0\0S\0\0\0\x04";
    const BIND: &[u8] = b"B\0\0\0\x08\0s1\0S\0\0\0\x04";
    const PREPARED: &[u8] = b"1\0\0\0\x04Z\0\0\0\x05I";

    #[test]
    fn answer_to_inserted_preparation_is_removed() {
        for length in [1, 2, 7, 100] {
            let mut outgoing = Outgoing::default();
            outgoing.take(PARSE);
            outgoing.take(BIND);
            assert_eq!(pass(&mut outgoing.trips, PREPARED, length), PREPARED);
            let bound = b"1\0\0\0\x042\0\0\0\x04D\0\0\0\x061ZZ\0\0\0\x05I";
            assert_eq!(pass(&mut outgoing.trips, bound, length), bound[5..], "no other byte is missing");
        }
    }

    #[test]
    fn answers_after_an_error_are_counted_anew() {
        let mut outgoing = Outgoing::default();
        for message in [PARSE, BIND, PARSE] {
            outgoing.take(message);
        }
        let refused = b"E\0\0\0\x05xZ\0\0\0\x05I";
        let answers = [PREPARED, refused, PREPARED].concat();
        assert_eq!(pass(&mut outgoing.trips, &answers, 3), answers);
    }

    #[test]
    fn announced_process_is_read_at_the_begin() {
        let session = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\x01\x02\0\0\0\x09Z\0\0\0\x05I";
        for length in [1, 3, 100] {
            let (mut incoming, link) = (Incoming::default(), PoolerLink::default());
            session.chunks(length).for_each(|piece| incoming.observe(piece, &link));
            assert!(!link.observe(Some("258")));
        }
    }
}
