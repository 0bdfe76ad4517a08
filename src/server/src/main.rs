//! The daemon `svc-server`.

fn main() {}
