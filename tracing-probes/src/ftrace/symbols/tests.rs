use proptest::prelude::*;

use super::{Parser, Symbols};

fn parse(text: &str) -> Symbols {
    let mut parser = Parser::default();
    parser.push(text.as_bytes());
    parser.finish()
}

#[test]
fn functions_by_address() {
    let symbols = parse(
        "0000000000000000 A fixed_percpu_data\n\
         ffffffff81000000 T _stext\n\
         ffffffff81000000 T _text\n\
         ffffffff81000100 t local.cfi\n\
         ffffffff81000180 D data\n\
         ffffffff81000200 T $x.12\n\
         ffffffff81000300 t of_module\t[ext4]\n\
         ffffffff81000080 T before.cfi_jt\n\
         zzz T broken\n\
         ffffffff81000400 T\n\
         \n\
         ffffffff81000500 W weak",
    );
    assert_eq!(symbols.len(), 4);
    for (address, want) in [
        (0xffff_ffff_80ff_ffff, None),
        (0xffff_ffff_8100_0000, Some("_stext")),
        (0xffff_ffff_8100_007f, Some("_stext")),
        (0xffff_ffff_8100_0080, Some("before")),
        (0xffff_ffff_8100_0100, Some("local")),
        (0xffff_ffff_8100_02ff, Some("local")),
        (0xffff_ffff_8100_0300, Some("of_module")),
        (0xffff_ffff_8110_0300, Some("of_module")),
        // A heap object, a megabyte behind the last function.
        (0xffff_ffff_8110_0301, None),
        (u64::MAX, None),
        (0, None),
    ] {
        assert_eq!(symbols.name(address), want, "{address:x}");
    }
}

#[test]
fn hidden_addresses_and_nothing() {
    assert_eq!(parse("0000000000000000 T _stext\n0000000000000000 t other\n").len(), 0);
    assert_eq!(parse("").name(0), None);
    let long = format!("1000 t {}\n2000 t {}\n3000 t next", "x".repeat(200), "y".repeat(5000));
    let symbols = parse(&long);
    assert_eq!(symbols.name(0x1000), Some("x".repeat(128).as_str()));
    assert_eq!(symbols.name(0x2000), Some("x".repeat(128).as_str()), "no symbol is so long");
    assert_eq!(symbols.name(0x3000), Some("next"));
}

proptest! {
    #[test]
    fn cuts_change_nothing(cut in 1_usize..90, noise in "[ -~\n]{0,80}") {
        let text = format!("1000 t one\n{noise}\n3000 T three\n2000 T two [module]\n");
        let mut pieces = Parser::default();
        text.as_bytes().chunks(cut).for_each(|piece| pieces.push(piece));
        let (pieces, whole) = (pieces.finish(), parse(&text));
        prop_assert_eq!((&pieces.starts, &pieces.text), (&whole.starts, &whole.text));
        prop_assert_eq!(whole.name(0x3000), Some("three"));
    }

    #[test]
    fn as_the_slow_way(addresses in prop::collection::vec(1_u64..5000, 1..60), asked in 0_u64..6000) {
        let text: String = addresses.iter().enumerate().map(|(n, a)| format!("{a:x} t f{n}\n")).collect();
        let symbols = parse(&text);
        let highest = addresses.iter().filter(|a| **a <= asked).max();
        let want = highest.and_then(|a| addresses.iter().position(|b| b == a)).map(|n| format!("f{n}"));
        prop_assert_eq!(symbols.name(asked).map(str::to_owned), want);
    }
}
