//! The messages of the driver, rewritten so that no statement has a name.

use std::collections::{HashMap, VecDeque};

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Type byte and length of a message.
pub(crate) const HEADER: usize = 5;

const BIND: u8 = b'B';
const CLOSE: u8 = b'C';
const DESCRIBE: u8 = b'D';
const FUNCTION_CALL: u8 = b'F';
const PARSE: u8 = b'P';
const QUERY: u8 = b'Q';
const SYNC: u8 = b'S';
/// The kind of object that `Close` and `Describe` are about.
const STATEMENT: u8 = b'S';

/// The preparation of a statement within a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preparation {
    /// The driver asked for it and waits for its answer.
    Asked,
    /// It was put in, and its answer is taken out again.
    Inserted,
}

/// The round trips under way: the preparations of each, in order. The last one is not complete.
#[derive(Debug)]
pub(crate) struct RoundTrips(VecDeque<VecDeque<Preparation>>);

impl Default for RoundTrips {
    fn default() -> Self {
        Self(VecDeque::from([VecDeque::new()]))
    }
}

impl RoundTrips {
    fn prepare(&mut self, preparation: Preparation) {
        if let Some(last) = self.0.back_mut() {
            last.push_back(preparation);
        }
    }

    fn complete(&mut self) {
        self.0.push_back(VecDeque::new());
    }

    /// Takes the next preparation that is answered.
    pub(crate) fn answer_preparation(&mut self) -> Option<Preparation> {
        self.0.front_mut()?.pop_front()
    }

    /// Ends a round trip. After an error its later messages are not answered.
    pub(crate) fn end(&mut self) {
        if self.0.len() > 1 {
            self.0.pop_front();
        }
    }
}

/// The rewriter of a connection.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Bytes of a message that is not complete.
    input: BytesMut,
    /// The statements of the driver by their names: text and types, as `Parse` has them.
    statements: HashMap<Bytes, Bytes>,
    /// The name of the statement that is prepared without one now, in this round trip.
    prepared: Option<Bytes>,
    pub(crate) trips: RoundTrips,
    /// Bytes for the server.
    pub(crate) output: BytesMut,
}

impl Outgoing {
    /// Takes bytes of the driver in, which begin between two messages.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        while let Some(message) = next_message(&mut self.input) {
            self.rewrite(message);
        }
    }

    fn rewrite(&mut self, message: Bytes) {
        let kind = message[0];
        match kind {
            PARSE => return self.parse(message),
            BIND => return self.bind(message),
            DESCRIBE | CLOSE => return self.address(kind, message),
            SYNC | QUERY | FUNCTION_CALL => {
                // A simple query ends the statement without a name, and what comes later may meet another server
                // connection.
                self.prepared = None;
                self.trips.complete();
            }
            _ => {}
        }
        self.output.put(message);
    }

    /// Remembers a statement, and prepares it without its name.
    fn parse(&mut self, message: Bytes) {
        self.trips.prepare(Preparation::Asked);
        let mut body = message.slice(HEADER..);
        match take_text(&mut body) {
            Some(name) if !name.is_empty() => {
                self.put_parse(&body);
                self.statements.insert(name.clone(), body);
                self.prepared = Some(name);
            }
            _ => {
                self.prepared = None;
                self.output.put(message);
            }
        }
    }

    /// Prepares the statement that is executed, unless that was just done, and executes the one without a name.
    fn bind(&mut self, message: Bytes) {
        let mut body = message.slice(HEADER..);
        match (take_text(&mut body), take_text(&mut body)) {
            (Some(portal), Some(name)) if !name.is_empty() && self.prepare(&name) => {
                put_header(&mut self.output, BIND, portal.len() + 2 + body.len());
                self.output.put(portal);
                self.output.put_bytes(0, 2);
                self.output.put(body);
            }
            _ => self.output.put(message),
        }
    }

    /// Describes or closes the statement without a name in place of one that has a name.
    fn address(&mut self, kind: u8, message: Bytes) {
        let mut body = message.slice(HEADER..);
        let is_statement = body.has_remaining() && body.get_u8() == STATEMENT;
        let name = take_text(&mut body).filter(|name| is_statement && !name.is_empty());
        let is_known = match (&name, kind) {
            (Some(name), DESCRIBE) => self.prepare(name),
            (Some(name), _) => {
                self.prepared = None;
                self.statements.remove(name).is_some()
            }
            (None, _) => false,
        };
        if !is_known {
            return self.output.put(message);
        }
        put_header(&mut self.output, kind, 2);
        self.output.put_u8(STATEMENT);
        self.output.put_u8(0);
    }

    /// Prepares a statement without its name; `false` if there is none of that name.
    fn prepare(&mut self, name: &Bytes) -> bool {
        if self.prepared.as_ref() == Some(name) {
            return true;
        }
        let Some(statement) = self.statements.get(name).cloned() else { return false };
        self.put_parse(&statement);
        self.trips.prepare(Preparation::Inserted);
        self.prepared = Some(name.clone());
        true
    }

    fn put_parse(&mut self, statement: &Bytes) {
        put_header(&mut self.output, PARSE, 1 + statement.len());
        self.output.put_u8(0);
        self.output.put_slice(statement);
    }
}

/// Takes the next whole message.
fn next_message(input: &mut BytesMut) -> Option<Bytes> {
    let length = u32::from_be_bytes(input.get(1..HEADER)?.try_into().ok()?);
    // The length counts itself.
    let whole = usize::try_from(length).ok()?.max(4) + 1;
    (input.len() >= whole).then(|| input.split_to(whole).freeze())
}

/// Takes a text and the zero at its end.
fn take_text(body: &mut Bytes) -> Option<Bytes> {
    let end = body.iter().position(|byte| *byte == 0)?;
    let text = body.split_to(end);
    body.advance(1);
    Some(text)
}

fn put_header(output: &mut BytesMut, kind: u8, length: usize) {
    output.put_u8(kind);
    // Messages of the driver are shorter than the protocol allows.
    output.put_u32(u32::try_from(length + 4).unwrap_or(u32::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = BytesMut::new();
        put_header(&mut bytes, kind, body.len());
        bytes.put_slice(body);
        bytes.to_vec()
    }

    /// Rewrites messages that arrive in pieces; returns what leaves.
    fn rewrite(outgoing: &mut Outgoing, messages: &[(u8, &[u8])]) -> Vec<(u8, Vec<u8>)> {
        let bytes: Vec<u8> = messages.iter().flat_map(|(kind, body)| message(*kind, body)).collect();
        bytes.chunks(3).for_each(|piece| outgoing.take(piece));
        let mut output = std::mem::take(&mut outgoing.output);
        let left = std::iter::from_fn(|| next_message(&mut output));
        let left = left.map(|message| (message[0], message[HEADER..].to_vec())).collect();
        assert!(output.is_empty() && outgoing.input.is_empty());
        left
    }

    const TEXT: &[u8] = b"s1\0SELECT 1\0\0\0";
    const UNNAMED: &[u8] = b"\0SELECT 1\0\0\0";

    #[test]
    fn statement_is_prepared_anew_with_each_execution() {
        let mut outgoing = Outgoing::default();
        let asked = rewrite(&mut outgoing, &[(b'P', TEXT), (b'D', b"Ss1\0"), (b'S', b"")]);
        assert_eq!(asked, [(b'P', UNNAMED.to_vec()), (b'D', b"S\0".to_vec()), (b'S', Vec::new())]);
        assert_eq!(outgoing.trips.answer_preparation(), Some(Preparation::Asked));
        outgoing.trips.end();
        let bound = rewrite(&mut outgoing, &[(b'B', b"\0s1\0rest"), (b'E', b"\0\0\0\0\0"), (b'S', b"")]);
        let kinds: Vec<u8> = bound.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [b'P', b'B', b'E', b'S']);
        assert_eq!((&*bound[0].1, &*bound[1].1), (UNNAMED, &b"\0\0rest"[..]));
        assert_eq!(outgoing.trips.answer_preparation(), Some(Preparation::Inserted));
        let closed = rewrite(&mut outgoing, &[(b'C', b"Ss1\0"), (b'S', b"")]);
        assert_eq!(closed, [(b'C', b"S\0".to_vec()), (b'S', Vec::new())]);
        let gone = rewrite(&mut outgoing, &[(b'B', b"\0s1\0rest"), (b'S', b"")]);
        assert_eq!(gone[0], (b'B', b"\0s1\0rest".to_vec()), "the server refuses it");
    }

    #[test]
    fn statements_in_one_round_trip_are_told_apart() {
        let mut outgoing = Outgoing::default();
        rewrite(&mut outgoing, &[(b'P', TEXT), (b'P', b"s2\0SELECT 2\0\0\0"), (b'S', b"")]);
        let binds: [(u8, &[u8]); 4] = [(b'B', b"\0s1\0"), (b'B', b"\0s1\0"), (b'B', b"\0s2\0"), (b'S', b"")];
        let kinds: Vec<u8> = rewrite(&mut outgoing, &binds).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [b'P', b'B', b'B', b'P', b'B', b'S']);
    }

    #[test]
    fn unnamed_messages_pass_unchanged() {
        let mut outgoing = Outgoing::default();
        let messages: [(u8, &[u8]); 6] = [
            (b'P', UNNAMED),
            (b'B', b"\0\0rest"),
            (b'D', b"P\0"),
            (b'C', b"Pportal\0"),
            (b'S', b""),
            (b'Q', b"SELECT 1\0"),
        ];
        let left = rewrite(&mut outgoing, &messages);
        let expected: Vec<_> = messages.iter().map(|(kind, body)| (*kind, body.to_vec())).collect();
        assert_eq!(left, expected);
    }
}
