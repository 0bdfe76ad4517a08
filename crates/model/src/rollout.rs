//! Assignment of callers to the active versions of a workflow.
//!
//! The active versions, newest first, own consecutive ranges of the buckets 0 to 99, sized by their
//! percentages.

/// The hash of no bytes.
const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Returns the bucket of an identity: its 64-bit FNV-1a hash modulo 100.
pub fn bucket(identity: &str) -> u8 {
    (fnv_1a(OFFSET_BASIS, identity) % 100) as u8
}

/// Returns the bucket of a caller in the traffic of one workflow. The buckets of a caller in different workflows have
/// nothing to do with each other, so that the same callers are not the first ones everywhere.
pub fn caller_bucket(workflow: &str, caller: &str) -> u8 {
    // No UTF-8 text has this byte, so that no two pairs are one text.
    let prefix = (fnv_1a(OFFSET_BASIS, workflow) ^ 0xff).wrapping_mul(PRIME);
    (mix(fnv_1a(prefix, caller)) % 100) as u8
}

const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Continues the 64-bit FNV-1a hash of a text.
fn fnv_1a(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// Lets every bit of a hash depend on all others (the finalizer of SplitMix64): the low bits of FNV-1a see the low bits of
/// the text alone.
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Checks that the percentages add up to 100.
///
/// # Errors
/// A description of the problem, which becomes the reason of a quarantine.
pub fn check(percentages: impl IntoIterator<Item = i64>) -> Result<(), String> {
    let mut sum = 0_i64;
    for percentage in percentages {
        if !(0..=100).contains(&percentage) {
            return Err(format!("a rollout percentage of {percentage} is outside 0..100"));
        }
        sum += percentage;
    }
    if sum == 100 {
        Ok(())
    } else {
        Err(format!("the rollout percentages of the active versions sum to {sum}, not 100"))
    }
}

/// Returns the index of the version that owns `bucket`. `percentages` are ordered newest version first.
pub fn pick(percentages: impl IntoIterator<Item = u8>, bucket: u8) -> Option<usize> {
    let mut end = 0_u16;
    percentages.into_iter().position(|percentage| {
        end += u16::from(percentage);
        u16::from(bucket) < end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_fnv_1a() {
        // Published test vectors: "" gives the offset basis; "a" and "foobar" are from the FNV specification.
        assert_eq!(bucket(""), (0xcbf2_9ce4_8422_2325_u64 % 100) as u8);
        assert_eq!(bucket("a"), (0xaf63_dc4c_8601_ec8c_u64 % 100) as u8);
        assert_eq!(bucket("foobar"), (0x8594_4171_f739_67e8_u64 % 100) as u8);
    }

    #[test]
    fn first_callers_differ_between_workflows() {
        let callers: Vec<_> = (0..20_000).map(|n| format!("user-{n}")).collect();
        let first: Vec<_> = callers.iter().filter(|caller| caller_bucket("orders", caller) < 10).collect();
        assert!((1_800..2_200).contains(&first.len()), "{}", first.len());
        let both = first.iter().filter(|caller| caller_bucket("refunds", caller) < 10).count();
        assert!((140..260).contains(&both), "{both}");
        assert_eq!(caller_bucket("orders", "user-1"), caller_bucket("orders", "user-1"));
        assert_ne!(
            callers.iter().map(|caller| caller_bucket("a", caller)).collect::<Vec<_>>(),
            callers.iter().map(|caller| caller_bucket("ab", caller)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_newest_version_takes_the_lowest_buckets() {
        let owner = |bucket| pick([20, 80], bucket);
        assert_eq!((owner(0), owner(19), owner(20), owner(99)), (Some(0), Some(0), Some(1), Some(1)));
        assert_eq!(pick([0, 100], 0), Some(1));
        assert_eq!(pick([50], 50), None);
        assert_eq!(pick([], 0), None);
    }

    #[test]
    fn percentages_must_fill_the_buckets_exactly() {
        assert!(check([100]).is_ok());
        assert!(check([20, 80]).is_ok());
        assert!(check([0, 100]).is_ok());
        assert!(check([]).is_err());
        assert!(check([20, 70]).is_err());
        assert!(check([-1, 101]).is_err());
    }
}
