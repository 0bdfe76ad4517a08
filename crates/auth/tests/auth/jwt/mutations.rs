//! Tests with random damage to tokens of every algorithm. `SVC_FUZZ_REQUESTS` sets the number of refusals.

use svc_auth::jwt::JwtVerifier;

use super::makers::{tokens, vectors};
use super::{ALGORITHMS, auth, build, key, verify};
use crate::support::fuzz_count;

/// SplitMix64 with a fixed seed: every run uses the same tokens.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(limit).unwrap()).unwrap()
    }

    fn mutate(&mut self, token: &str, other: &str) -> Vec<u8> {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";
        let mut bytes = token.as_bytes().to_vec();
        let at = self.below(bytes.len());
        let letter = LETTERS[self.below(LETTERS.len())];
        match self.below(8) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = letter,
            2 => bytes.insert(at, letter),
            3 => drop(bytes.remove(at)),
            4 => bytes.truncate(at),
            5 => {
                let with = self.below(bytes.len());
                bytes.swap(at, with);
            }
            6 => drop(bytes.splice(at.., other.bytes().skip(at))),
            _ => {
                let mut parts: Vec<&str> = token.split('.').collect();
                parts[at % 3] = other.split('.').nth(self.below(3)).unwrap();
                bytes = parts.join(".").into_bytes();
            }
        }
        bytes
    }
}

#[test]
fn no_mutated_token_is_accepted() {
    let vectors = vectors();
    let tokens: Vec<_> = vectors.iter().flat_map(tokens).collect();
    let keys = tokens.iter().map(|(algorithm, kid, text, _)| key(*algorithm, text, Some(kid))).collect();
    let verifier: JwtVerifier = build(&auth(keys));
    let tokens: Vec<_> = tokens.into_iter().map(|(algorithm, _, _, token)| (algorithm, token)).collect();
    for (_, token) in &tokens {
        assert_eq!(verify(&verifier, token).err(), None);
    }
    let (count, mut random) = (fuzz_count(30_000), Random(7519));
    let mut refused = ALGORITHMS.map(|algorithm| (algorithm, 0));
    while refused.iter().map(|(_, refused)| refused).sum::<u64>() < count {
        let (algorithm, token) = tokens[random.below(tokens.len())];
        let (_, other) = tokens[random.below(tokens.len())];
        let mutated = random.mutate(token, other);
        if tokens.iter().any(|(_, token)| token.as_bytes() == mutated) {
            continue;
        }
        let outcome = super::ready(verifier.claims(&mutated, super::NOW));
        assert!(outcome.is_err(), "{}", String::from_utf8_lossy(&mutated));
        refused.iter_mut().filter(|(known, _)| *known == algorithm).for_each(|(_, refused)| *refused += 1);
    }
    println!("{count} mutated tokens refused");
    assert!(
        refused.iter().all(|(_, refused)| *refused > count / 24),
        "every algorithm has its share: {refused:?}"
    );
}
