//! Packages: their receipts, and the commands that carry them from one server to another.

mod interruption;
mod promotion;
mod receipts;
mod verbs;
