use super::*;

#[test]
fn it_is_filled_from_its_end() {
    let mut bytes = [7; 10];
    let mut memory = Backward::of(&mut bytes);
    memory.prefetch();
    assert_eq!((memory.free(), memory.capacity(), memory.filled()), (10, 10, &[][..]));
    assert!(memory.put(&[1, 2]) && memory.put(&[]));
    assert!(memory.put_last([0, 0, 3, 4], 2));
    assert_eq!((memory.free(), memory.filled()), (6, &[3, 4, 1, 2][..]));
    // Too long, and more than there is.
    assert!(!memory.put(&[9; 7]) && !memory.put_last([9; 7], 1) && !memory.put_last([9; 4], 5));
    assert_eq!(memory.filled(), [3, 4, 1, 2]);
    assert!(memory.put_last([8; 6], 6) && memory.free() == 0);
    assert!(!memory.put(&[9]) && memory.put(&[]) && memory.put_last([], 0));
    assert_eq!(bytes, [8, 8, 8, 8, 8, 8, 3, 4, 1, 2]);
}

#[test]
fn it_moves_to_the_front() {
    for filled in 0..=4 {
        for tail in 0..=4_usize {
            let mut bytes = [0; 6];
            let mut memory = Backward::of(&mut bytes);
            assert!(memory.put(&[1, 2, 3, 4][..filled]));
            let len = memory.move_to_front(&[5, 6, 7, 8][..tail]);
            let fits = filled + tail <= 6;
            assert_eq!(len, fits.then_some(filled + tail));
            let all = [&[1, 2, 3, 4][..filled], &[5, 6, 7, 8][..tail]].concat();
            assert!(!fits || bytes.starts_with(&all), "{filled} {tail}: {bytes:?}");
        }
    }
    assert_eq!(Backward::EMPTY.move_to_front(&[]), Some(0));
    assert_eq!(Backward::EMPTY.move_to_front(&[1]), None);
}

#[test]
fn bytes_without_values_stay_out() {
    let mut scratch = Scratch::new();
    let mut memory = scratch.memory();
    assert_eq!((memory.free(), memory.filled()), (Scratch::LEN, &[][..]));
    assert!(memory.put_last([1, 2, 3, 4, 5, 6, 7, 8], 3));
    assert_eq!(memory.filled(), [6, 7, 8]);
}
