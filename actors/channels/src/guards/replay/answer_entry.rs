//! The text under an idempotency key whose answer is kept: the claim of a run, then its end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use svc_model::id::new_ordered_id;
use svc_secrets::{EnvelopeKeys, EnvelopePlace, NONCE};

use crate::answer::response::ChannelResponse;

/// The status of an accepted message, whose answer has the token that reads its result.
const ACCEPTED: u16 = 202;

/// The text under a key.
#[derive(Deserialize, Serialize)]
pub(super) struct AnswerEntry {
    /// SHA-256 of the body of the first request, hexadecimal.
    pub(super) request: String,
    pub(super) state: EntryState,
}

/// The state of the first run.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EntryState {
    /// It goes on; the id distinguishes it from others.
    Running(String),
    /// It has ended with this answer.
    Answered(KeptAnswer),
    /// It has ended with an answer that is encrypted.
    Sealed(String),
    /// It has ended with an answer that is not kept.
    NotKept,
}

/// An answer as it is stored.
#[derive(Deserialize, Serialize)]
pub(super) struct KeptAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: KeptBody,
    #[serde(default)]
    is_envelope: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum KeptBody {
    Text(String),
    /// In base64.
    Bytes(String),
}

/// Returns the digest of a body, by which a repeat is distinguished from another request.
pub(in crate::guards) fn digest_body(body: &[u8]) -> String {
    hex::encode(Sha256::digest(body))
}

impl AnswerEntry {
    /// Makes the text of a claim, which no other claim has.
    pub(super) fn claim(request: &str) -> String {
        let state = EntryState::Running(new_ordered_id().to_string());
        Self { request: request.to_owned(), state }.into_text()
    }

    /// Makes the text of an end. An answer with a token is encrypted if there is a key, bound to the name of the entry.
    pub(super) fn end(
        request: &str,
        answer: &ChannelResponse,
        max_bytes: usize,
        name: &str,
        keys: &EnvelopeKeys,
    ) -> String {
        let state = if answer.sets_cookie() || answer.body.len() > max_bytes {
            EntryState::NotKept
        } else {
            let kept = KeptAnswer::from_response(answer);
            if answer.status == ACCEPTED && keys.seals() {
                kept.seal(name, keys).map_or(EntryState::NotKept, EntryState::Sealed)
            } else {
                EntryState::Answered(kept)
            }
        };
        Self { request: request.to_owned(), state }.into_text()
    }

    /// Reads a text; `None` for one that this service did not write, or wrote for another policy.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn into_text(self) -> String {
        serde_json::to_string(&self).unwrap_or_default()
    }
}

impl KeptAnswer {
    fn from_response(answer: &ChannelResponse) -> Self {
        let body = match std::str::from_utf8(&answer.body) {
            Ok(text) => KeptBody::Text(text.to_owned()),
            Err(_) => KeptBody::Bytes(STANDARD.encode(&answer.body)),
        };
        let (headers, is_envelope) = (answer.headers.clone(), answer.is_envelope);
        Self { status: answer.status, headers, body, is_envelope }
    }

    /// Returns the answer; `None` if its text was damaged.
    pub(super) fn into_response(self) -> Option<ChannelResponse> {
        let Self { status, headers, body, is_envelope } = self;
        let body: Bytes = match body {
            KeptBody::Text(text) => text.into(),
            KeptBody::Bytes(text) => STANDARD.decode(text).ok()?.into(),
        };
        Some(ChannelResponse { status, headers, body, is_guess: false, is_envelope })
    }

    fn seal(&self, name: &str, keys: &EnvelopeKeys) -> Option<String> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        keys.seal(&serde_json::to_string(self).ok()?, entry_place(name), nonce).ok()
    }

    /// Decrypts an answer; `None` without its key.
    pub(super) fn open(sealed: &str, name: &str, keys: &EnvelopeKeys) -> Option<Self> {
        serde_json::from_str(&keys.open(sealed, entry_place(name)).ok()?).ok()
    }
}

/// Returns the place to which an encrypted answer is bound, in whatever store it is.
const fn entry_place(name: &str) -> EnvelopePlace<'_> {
    EnvelopePlace { table: "kept_answers", row: name, column: "entry" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &'static [u8]) -> ChannelResponse {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let is_envelope = status == 503;
        ChannelResponse { status, headers, body: Bytes::from_static(body), is_guess: false, is_envelope }
    }

    fn read(text: &str, name: &str, keys: &EnvelopeKeys) -> Option<ChannelResponse> {
        match AnswerEntry::parse(text).unwrap().state {
            EntryState::Answered(kept) => kept.into_response(),
            EntryState::Sealed(sealed) => KeptAnswer::open(&sealed, name, keys)?.into_response(),
            EntryState::Running(_) | EntryState::NotKept => None,
        }
    }

    #[test]
    fn answers_come_back_as_they_were() {
        let keys = EnvelopeKeys::default();
        for given in [answer(200, b"{}"), answer(503, b"\xff\x00"), answer(202, b"{\"trace_token\":\"t\"}")] {
            let text = AnswerEntry::end("d", &given, 100, "k", &keys);
            assert_eq!(read(&text, "k", &keys), Some(given));
        }
        let mut cookie = answer(200, b"{}");
        cookie.headers.push(("set-cookie".to_owned(), "a=b".to_owned()));
        for given in [cookie, answer(200, b"12345")] {
            let text = AnswerEntry::end("d", &given, 4, "k", &keys);
            assert!(matches!(AnswerEntry::parse(&text).unwrap().state, EntryState::NotKept), "{text}");
        }
        assert!(AnswerEntry::parse("0193-owner-of-a-refused-key").is_none());
        assert_ne!(AnswerEntry::claim("d"), AnswerEntry::claim("d"));
    }

    #[test]
    fn token_of_accepted_work_is_encrypted() {
        let keys = EnvelopeKeys::new(Some(&"ab".repeat(32)), []).unwrap();
        let accepted = answer(202, b"{\"trace_token\":\"s3cret\"}");
        let text = AnswerEntry::end("d", &accepted, 100, "k", &keys);
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(read(&text, "k", &keys), Some(accepted));
        assert_eq!(read(&text, "other", &keys), None, "an entry is bound to its name");
        assert_eq!(read(&text, "k", &EnvelopeKeys::default()), None);
    }
}
