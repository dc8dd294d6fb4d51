//! deliberate
fn main() {}
