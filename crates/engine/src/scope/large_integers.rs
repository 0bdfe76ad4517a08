//! Whole numbers of 2^63 and more. The values of an arena hold them as the nearest doubles, which are other numbers.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// The whole numbers of 2^63 and more that were copied into an arena, by the bits of the doubles that denote them.
/// `None` means several with the same double.
#[derive(Clone, Debug, Default)]
pub(crate) struct LargeIntegers(RefCell<BTreeMap<u64, Option<u64>>>);

impl LargeIntegers {
    /// Returns the double that denotes a number, and remembers the number.
    #[expect(clippy::cast_precision_loss, reason = "that is why the number is remembered")]
    pub(super) fn remember(&self, number: u64) -> f64 {
        let double = number as f64;
        let mut known = self.0.borrow_mut();
        let same = known.entry(double.to_bits()).or_insert(Some(number));
        *same = same.filter(|known| *known == number);
        double
    }

    /// Returns `true` if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Returns the number that a double denotes: `None` if it denotes itself, `Some(None)` if it may be one of
    /// several.
    pub(crate) fn find(&self, double: f64) -> Option<Option<u64>> {
        self.0.borrow().get(&double.to_bits()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_maps_to_its_number_unless_shared() {
        let large = LargeIntegers::default();
        assert!(large.is_empty());
        let double = large.remember(u64::MAX);
        assert_eq!((large.remember(u64::MAX), large.find(double)), (double, Some(Some(u64::MAX))));
        assert_eq!(large.find(1.5), None);
        assert_eq!((large.remember(u64::MAX - 1), large.find(double)), (double, Some(None)));
        let other = large.remember(1 << 63);
        assert_eq!(large.find(other), Some(Some(1 << 63)));
    }
}
