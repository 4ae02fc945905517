//! Sizes of shared memory beyond what a config can say in one field, and when it is unmapped.

use super::smb::{Touched, smb_sizes};

#[test]
fn a_size_beyond_32_bits_is_clamped() {
    // Upstream multiplies in 32 bits here.
    assert_eq!(smb_sizes(u64::from(u32::MAX) * 1024, 0).0, 32 * 1024 * 1024);
}

/// After how many pages of 32 KiB at `off` memory of `whole` KiB is unmapped, twice.
fn unmapped_after(whole_kb: usize, off_kb: usize) -> [Option<usize>; 2] {
    let mut touched = Touched::default();
    let mut add = |_: &usize| touched.add(whole_kb * 1024, off_kb * 1024, 32 * 1024);
    [(); 2].map(|()| (1..100).find(&mut add))
}

#[test]
fn memory_beyond_the_first_pages_is_unmapped_now_and_then() {
    assert_eq!(unmapped_after(1024, 128), [Some(8); 2]);
    assert_eq!(unmapped_after(1024, 992), [Some(8); 2]);
    // What is read again and again stays.
    assert_eq!(unmapped_after(1024, 127), [None; 2]);
    // So does memory that is not much larger than that.
    assert_eq!(unmapped_after(384, 128), [None; 2]);
    assert_eq!(unmapped_after(385, 128), [Some(8); 2]);
}
