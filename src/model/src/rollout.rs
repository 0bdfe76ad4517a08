//! Assignment of callers to the active versions of a workflow.
//!
//! The active versions, newest first, own consecutive ranges of the buckets 0 to 99, sized by their
//! percentages.

/// Returns the bucket of an identity: its 64-bit FNV-1a hash modulo 100.
pub fn bucket(identity: &str) -> u8 {
    let hash = identity.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash % 100) as u8
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
