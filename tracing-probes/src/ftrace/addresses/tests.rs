use super::Addresses;

#[test]
fn indices_count_appearances() {
    let mut addresses = Addresses::default();
    for _ in 0..2 {
        assert!(addresses.is_empty());
        for address in [7, 0, u64::MAX, 7] {
            addresses.index(address);
        }
        assert_eq!((addresses.index(0), addresses.index(u64::MAX)), (2, 3));
        assert_eq!(addresses.fresh().collect::<Vec<_>>(), [(1, 7), (2, 0), (3, u64::MAX)]);
        assert_eq!(addresses.index(8), 4);
        assert_eq!(addresses.fresh().collect::<Vec<_>>(), [(4, 8)]);
        assert_eq!(addresses.fresh().next(), None);
        addresses.clear();
    }
}

#[test]
fn many_addresses() {
    let mut addresses = Addresses::default();
    // Functions lie at multiples of sixteen.
    let functions = || (0..10_000).map(|n| 0xffff_ffff_8100_0000_u64 + 16 * n);
    for (want, address) in (1..).zip(functions()) {
        assert_eq!(addresses.index(address), want);
    }
    for (want, address) in (1..).zip(functions()) {
        assert_eq!(addresses.index(address), want);
    }
}
