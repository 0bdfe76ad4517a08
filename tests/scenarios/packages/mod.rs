//! Packages: their receipts, and the commands that carry them from one server to another.

mod boot;
mod interruption;
mod moves;
mod plugins;
mod promotion;
mod receipts;
mod requirements;
mod trust;
mod values;
mod verbs;
