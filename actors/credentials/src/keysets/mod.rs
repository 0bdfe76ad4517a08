//! Key sets of token issuers, fetched once for all channels and kept fresh.
//!
//! [`KeySetCache`] hands out the key set at a URL. All users of one URL share one set, which lives as long as
//! one of them does. Fresh keys are read on any thread without a message. A caller that needs newer ones has
//! the one actor begin a fetch, which serves all callers of that URL, and waits for it outside the actor, so
//! that the callers of one issuer do not delay those of another.
//!
//! - A set is fresh for the `max-age` of its answer, at least a minute and at most a day; for five minutes
//!   without one. It is fetched again in the background when four fifths of that time are over.
//! - A fetch that fails (no answer in five seconds, any status but 2xx, a redirect, more than 256 KiB, no key
//!   set, an empty one) changes nothing: the old keys go on serving, however old they are. The next is made
//!   after a second, two, four and so on up to thirty.
//! - A key id that is not in the set causes another fetch, at most every thirty seconds, whether it succeeds
//!   or not, and none within a second of the last answer: tokens with invented key ids do not burden the
//!   issuer.
//!
//! The key set of an issuer without a URL is found by discovery: each fetch reads the document of the issuer, which must
//! name exactly that issuer, and then the key set that it names. It begins when a channel with the issuer is loaded.
//!
//! No caller waits longer than a fetch may take, and none waits for an issuer that fails while there are keys
//! at hand. A crash of the actor loses no key and no backoff: the shared sets hold them.
//! Nothing survives the process.

mod cache;
mod fetcher;
mod set;
mod source;

pub(crate) use source::max_age;

pub use cache::{KeySetCache, KeySetStartError, Settings};
