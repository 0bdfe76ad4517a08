//! Exact decimal numbers of up to a thousand digits.

use std::cmp::Ordering;
use std::fmt;
use std::sync::LazyLock;

use datalogic_rs::datavalue::NumberValue;
use num_bigint::{BigInt, BigUint, Sign};

/// Digits that a number may have, those of a zero before the point left out.
pub(super) const MAX_DIGITS: usize = 1000;

/// Bits of the least number of one digit more.
const BITS_BEYOND: u64 = 3322;

/// The least whole number of one digit more.
static BEYOND: LazyLock<BigUint> = LazyLock::new(|| power_of_ten(MAX_DIGITS));

const NO_DECIMAL: &str = "a text is no decimal number, such as \"12.50\"";
const TOO_LONG: &str = "a decimal number has at most 1000 digits";
const ZERO_DIVISOR: &str = "a decimal number cannot be divided by zero";

/// The reason for which there is no decimal number, for the author.
type Refusal = &'static str;

/// The rule by which digits are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundingMode {
    HalfEven,
    HalfUp,
    HalfDown,
    Up,
    Down,
    Ceil,
    Floor,
}

impl RoundingMode {
    /// The names, each with its rule.
    pub(crate) const NAMES: [&str; 7] = ["half_even", "half_up", "half_down", "up", "down", "ceil", "floor"];

    /// Returns the rule of a name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "half_even" => Self::HalfEven,
            "half_up" => Self::HalfUp,
            "half_down" => Self::HalfDown,
            "up" => Self::Up,
            "down" => Self::Down,
            "ceil" => Self::Ceil,
            "floor" => Self::Floor,
            _ => return None,
        })
    }

    /// Returns `true` if a quotient with a remainder goes one step away from zero. `half` compares the remainder with
    /// half of the divisor.
    fn goes_away(self, half: Ordering, is_odd: bool, is_negative: bool) -> bool {
        match self {
            Self::HalfEven => half.is_gt() || (half.is_eq() && is_odd),
            Self::HalfUp => half.is_ge(),
            Self::HalfDown => half.is_gt(),
            Self::Up => true,
            Self::Down => false,
            Self::Ceil => !is_negative,
            Self::Floor => is_negative,
        }
    }
}

/// A decimal number: a whole number, and how many of its digits are behind the point. Zeros at the end are kept, as
/// amounts of money have them.
#[derive(Debug, Clone)]
pub(super) struct Decimal {
    digits: BigInt,
    scale: usize,
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Self { digits: number.into(), scale: 0 }
    }
}

impl Decimal {
    /// Reads a text such as `12.50`, `-.5` or `1e3`.
    ///
    /// # Errors
    /// It is none, or has too many digits.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let (is_negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
            return Err(NO_DECIMAL);
        }
        let whole = whole.trim_start_matches('0');
        // What has more digits than that is too long whatever its exponent.
        if whole.len() + fraction.len() > 2 * MAX_DIGITS {
            return Err(TOO_LONG);
        }
        let digits = parse_digits(&[whole, fraction].concat());
        let digits = if is_negative { -digits } else { digits };
        let scale = i64::try_from(fraction.len()).map_err(|_| TOO_LONG)? - exponent;
        match usize::try_from(scale) {
            Ok(scale) => Self { digits, scale }.within_bounds(),
            Err(_) => Self { digits, scale: 0 }.shifted(scale.unsigned_abs()),
        }
    }

    /// Returns the number of the shortest text that denotes a double, not of its binary digits.
    ///
    /// # Errors
    /// It is not finite.
    pub(super) fn from_double(double: f64) -> Result<Self, Refusal> {
        Self::parse(&double.to_string())
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self, Refusal> {
        let (one, other, scale) = self.aligned(other);
        Self { digits: one + other, scale }.within_bounds()
    }

    pub(super) fn subtract(&self, other: &Self) -> Result<Self, Refusal> {
        let (one, other, scale) = self.aligned(other);
        Self { digits: one - other, scale }.within_bounds()
    }

    pub(super) fn multiply(&self, other: &Self) -> Result<Self, Refusal> {
        Self { digits: &self.digits * &other.digits, scale: self.scale + other.scale }.within_bounds()
    }

    /// Divides, and rounds the quotient once.
    ///
    /// # Errors
    /// The divisor is zero, or the quotient has too many digits.
    pub(super) fn divide(&self, other: &Self, places: i32, mode: RoundingMode) -> Result<Self, Refusal> {
        if other.digits.sign() == Sign::NoSign {
            return Err(ZERO_DIVISOR);
        }
        let shift = i64::from(places) + signed(other.scale) - signed(self.scale);
        let power = BigInt::from(power_of_ten(usize::try_from(shift.unsigned_abs()).map_err(|_| TOO_LONG)?));
        let quotient = if shift < 0 {
            divide_rounded(&self.digits, &(&other.digits * power), mode)
        } else {
            divide_rounded(&(&self.digits * power), &other.digits, mode)
        };
        Self::of_places(quotient, places)
    }

    /// Rounds to so many digits behind the point, or adds zeros; a negative number of places rounds to tens, hundreds
    /// and so on.
    ///
    /// # Errors
    /// The result has too many digits.
    pub(super) fn round(&self, places: i32, mode: RoundingMode) -> Result<Self, Refusal> {
        let dropped = signed(self.scale) - i64::from(places);
        let power =
            BigInt::from(power_of_ten(usize::try_from(dropped.unsigned_abs()).map_err(|_| TOO_LONG)?));
        let digits =
            if dropped > 0 { divide_rounded(&self.digits, &power, mode) } else { &self.digits * power };
        Self::of_places(digits, places)
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let (one, other, _) = self.aligned(other);
        one.cmp(&other)
    }

    /// Returns the integer, or the nearest double.
    pub(super) fn to_number(&self) -> NumberValue {
        let power = BigInt::from(power_of_ten(self.scale));
        let whole = &self.digits / &power;
        if &whole * power == self.digits
            && let Ok(integer) = i64::try_from(&whole)
        {
            return NumberValue::from_i64(integer);
        }
        NumberValue::from_f64(self.to_string().parse().unwrap_or(f64::NAN))
    }

    /// Makes a number of what is counted in steps of `places`.
    fn of_places(digits: BigInt, places: i32) -> Result<Self, Refusal> {
        match usize::try_from(places) {
            Ok(scale) => Self { digits, scale }.within_bounds(),
            Err(_) => Self { digits, scale: 0 }.shifted(u64::from(places.unsigned_abs())),
        }
    }

    /// Multiplies a whole number by a power of ten.
    fn shifted(self, power: u64) -> Result<Self, Refusal> {
        if self.digits.sign() == Sign::NoSign {
            return Ok(self);
        }
        let power = usize::try_from(power).ok().filter(|power| *power <= MAX_DIGITS).ok_or(TOO_LONG)?;
        Self { digits: self.digits * BigInt::from(power_of_ten(power)), scale: self.scale }.within_bounds()
    }

    fn within_bounds(self) -> Result<Self, Refusal> {
        let bits = self.digits.bits();
        let is_long = bits > BITS_BEYOND || (bits == BITS_BEYOND && *self.digits.magnitude() >= *BEYOND);
        if is_long || self.scale > MAX_DIGITS { Err(TOO_LONG) } else { Ok(self) }
    }

    /// Returns the digits of both numbers at the longer scale.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, usize) {
        let scale = self.scale.max(other.scale);
        let at_scale = |number: &Self| match scale - number.scale {
            0 => number.digits.clone(),
            missing => &number.digits * BigInt::from(power_of_ten(missing)),
        };
        (at_scale(self), at_scale(other), scale)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits.sign() == Sign::Minus { "-" } else { "" };
        let digits = self.digits.magnitude().to_string();
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let digits = format!("{digits:0>width$}", width = self.scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - self.scale);
        write!(f, "{sign}{whole}.{fraction}")
    }
}

fn is_digits(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the number that digits denote; zero if there are none.
fn parse_digits(digits: &str) -> BigInt {
    match digits.parse::<i64>() {
        Ok(short) => short.into(),
        Err(_) => BigInt::parse_bytes(digits.as_bytes(), 10).unwrap_or_default(),
    }
}

fn parse_exponent(text: &str) -> Result<i64, Refusal> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !is_digits(digits) {
        return Err(NO_DECIMAL);
    }
    // Four digits lead beyond the bounds, whatever the mantissa has.
    let size = digits.parse::<i64>().ok().filter(|size| *size < 10_000).ok_or(TOO_LONG)?;
    Ok(if text.starts_with('-') { -size } else { size })
}

/// Returns a number of digits as a summand.
fn signed(digits: usize) -> i64 {
    i64::try_from(digits).unwrap_or(i64::MAX)
}

fn power_of_ten(power: usize) -> BigUint {
    match u32::try_from(power) {
        Ok(short) if short < 20 => BigUint::from(10_u64.pow(short)),
        Ok(long) => BigUint::from(10_u32).pow(long),
        Err(_) => BigUint::default(),
    }
}

/// Divides by what is not zero.
fn divide_rounded(dividend: &BigInt, divisor: &BigInt, mode: RoundingMode) -> BigInt {
    let is_negative = (dividend.sign() == Sign::Minus) != (divisor.sign() == Sign::Minus);
    let (dividend, divisor) = (dividend.magnitude(), divisor.magnitude());
    let mut quotient = dividend / divisor;
    let remainder = dividend - &quotient * divisor;
    if remainder.bits() > 0 {
        let half = (remainder << 1_u32).cmp(divisor);
        if mode.goes_away(half, quotient.bit(0), is_negative) {
            quotient += 1_u32;
        }
    }
    let quotient = BigInt::from(quotient);
    if is_negative { -quotient } else { quotient }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).expect(text)
    }

    #[test]
    fn text_keeps_its_digits() {
        for (text, expected) in [
            ("12.50", "12.50"),
            ("-0.05", "-0.05"),
            (".5", "0.5"),
            ("5.", "5"),
            ("+007", "7"),
            ("-0.00", "0.00"),
            ("1e3", "1000"),
            ("1.25E+1", "12.5"),
            ("1.25e-3", "0.00125"),
            ("0e9999", "0"),
            ("123456789012345678901234567890.10", "123456789012345678901234567890.10"),
        ] {
            assert_eq!(decimal(text).to_string(), expected, "{text}");
        }
        for text in [
            "", ".", "-", "+", "e5", "1e", "1e+", "1,5", "1_000", "0x10", " 1", "NaN", "inf", "١", "1.2.3",
            "--1",
        ] {
            assert_eq!(Decimal::parse(text).unwrap_err(), NO_DECIMAL, "{text}");
        }
    }

    #[test]
    fn more_than_a_thousand_digits_are_refused() {
        let nines = "9".repeat(MAX_DIGITS);
        assert_eq!(decimal(&nines).to_string(), nines);
        assert_eq!(decimal(&format!("0.{nines}")).to_string(), format!("0.{nines}"));
        assert_eq!(decimal(&format!("{}{nines}", "0".repeat(5000))).to_string(), nines);
        for text in [
            format!("1{}", "0".repeat(MAX_DIGITS)),
            format!("0.0{nines}"),
            format!("{nines}.5"),
            format!("{nines}{nines}{nines}"),
            "1e1000".to_owned(),
            "1e-1001".to_owned(),
            "1e99999999999999999999".to_owned(),
        ] {
            assert_eq!(Decimal::parse(&text).unwrap_err(), TOO_LONG, "{text}");
        }
        let (nines, one) = (decimal(&nines), decimal("1"));
        assert_eq!(nines.add(&one).unwrap_err(), TOO_LONG);
        assert_eq!(nines.multiply(&nines).unwrap_err(), TOO_LONG);
        assert_eq!(nines.round(1, RoundingMode::Up).unwrap_err(), TOO_LONG);
        assert_eq!(
            one.divide(&decimal("3"), 1000, RoundingMode::Down).map(|third| third.to_string().len()),
            Ok(1002)
        );
    }

    #[test]
    fn modes_round_ties_and_signs_apart() {
        let round = |text: &str, mode| decimal(text).round(0, mode).unwrap().to_string();
        for (name, expected) in [
            ("half_even", ["2", "-2", "4", "2", "3"]),
            ("half_up", ["3", "-3", "4", "2", "3"]),
            ("half_down", ["2", "-2", "3", "2", "3"]),
            ("up", ["3", "-3", "4", "3", "3"]),
            ("down", ["2", "-2", "3", "2", "2"]),
            ("ceil", ["3", "-2", "4", "3", "3"]),
            ("floor", ["2", "-3", "3", "2", "2"]),
        ] {
            let mode = RoundingMode::from_name(name).expect(name);
            let rounded = ["2.5", "-2.5", "3.5", "2.4", "2.51"].map(|text| round(text, mode));
            assert_eq!(rounded, expected, "{name}");
        }
        assert_eq!(decimal("1250").round(-2, RoundingMode::HalfEven).unwrap().to_string(), "1200");
        assert_eq!(decimal("-0.4").round(0, RoundingMode::HalfEven).unwrap().to_string(), "0");
        assert_eq!(decimal("1.5").round(3, RoundingMode::Down).unwrap().to_string(), "1.500");
    }

    #[test]
    fn zero_divides_nothing() {
        assert_eq!(decimal("1").divide(&decimal("0.00"), 2, RoundingMode::Up).unwrap_err(), ZERO_DIVISOR);
        let third = decimal("-10").divide(&decimal("0.3"), 2, RoundingMode::HalfUp);
        assert_eq!(third.unwrap().to_string(), "-33.33");
    }

    #[test]
    fn double_is_its_shortest_text() {
        for (double, expected) in
            [(0.1, "0.1"), (2.675, "2.675"), (1e21, "1000000000000000000000"), (5e-7, "0.0000005")]
        {
            assert_eq!(Decimal::from_double(double).unwrap().to_string(), expected);
        }
        assert!(Decimal::from_double(f64::NAN).is_err() && Decimal::from_double(f64::INFINITY).is_err());
    }
}
