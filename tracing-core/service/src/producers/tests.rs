//! Sizes of shared memory beyond what a config can say in one field.

use super::*;

#[test]
fn a_size_beyond_32_bits_is_clamped() {
    // Upstream multiplies in 32 bits here.
    assert_eq!(smb_sizes(u64::from(u32::MAX) * 1024, 0).0, 32 * 1024 * 1024);
}
