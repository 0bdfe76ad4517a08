//! Key sets of token issuers, fetched once for all channels and kept fresh.
//!
//! [`KeySetCache`] hands out the key set at a URL. All who name one URL share one set, which lives as long as
//! one of them does. Fresh keys are read on any thread without a message; whoever needs others has the one
//! actor begin a fetch, one for all who ask meanwhile, and waits for it outside, where the callers of one
//! issuer are in nobody's way.
//!
//! - A set is fresh for the `max-age` of its answer, within a minute and a day; for five minutes when there
//!   is none. It is fetched again when four fifths of that are over, behind the backs of its users.
//! - A fetch that fails (no answer in five seconds, any status but 2xx, a redirect, more than 256 KiB, no key
//!   set, an empty one) changes nothing: the old keys go on serving, however old they are. The next is made
//!   after a second, two, four and so on up to thirty.
//! - A key id that is not in the set makes for another fetch, at most every thirty seconds, whether it
//!   succeeds or not, and none at all within a second of the last answer: tokens with invented key ids do not
//!   reach the issuer.
//!
//! Nobody waits longer than a fetch may take, and nobody waits for an issuer that is known to be in trouble
//! while there are keys at hand. A crash of the actor loses no key and no pause: they lie in the shared sets.
//! Nothing survives the process.

mod cache;
mod fetcher;
mod set;
mod source;

pub use cache::{KeySetCache, KeySetStartError, Settings, key_set_url};
