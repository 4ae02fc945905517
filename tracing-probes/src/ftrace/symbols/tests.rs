use std::cell::RefCell;
use std::io;

use proptest::prelude::*;

use super::{Parser, Restrict, Revealed, Symbols};

fn parse(text: &str) -> Symbols {
    let mut parser = Parser::default();
    parser.push(text.as_bytes());
    parser.finish()
}

/// Upstream: the names of one address were joined.
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

/// A setting that hides addresses from `hides_from` on; writes are logged, and those of `refused` fail. What is
/// remembered is above the level while that is not as it was found.
struct Setting {
    remembered: RefCell<Option<u32>>,
    forgets: bool,
    stays: bool,
    level: RefCell<u32>,
    hides_from: u32,
    refused: Option<u32>,
    written: RefCell<Vec<u32>>,
}

impl Setting {
    fn new(level: u32, hides_from: u32) -> Self {
        let (level, written) = (RefCell::new(level), RefCell::default());
        let remembered = RefCell::default();
        Self { remembered, forgets: false, stays: false, level, hides_from, refused: None, written }
    }
}

impl Restrict for Setting {
    fn may_lower(&self) -> bool {
        !self.stays
    }

    fn is_hidden(&self) -> io::Result<bool> {
        Ok(*self.level.borrow() >= self.hides_from)
    }

    fn level(&self) -> io::Result<u32> {
        Ok(*self.level.borrow())
    }

    fn set_level(&self, level: u32) -> io::Result<()> {
        if self.refused == Some(level) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        assert!(self.remembered.borrow().is_some(), "it is changed, and nobody knows it");
        self.written.borrow_mut().push(level);
        *self.level.borrow_mut() = level;
        Ok(())
    }

    fn remember(&self, found: Option<u32>) -> io::Result<()> {
        if self.forgets {
            return Err(io::ErrorKind::StorageFull.into());
        }
        *self.remembered.borrow_mut() = found;
        Ok(())
    }
}

#[test]
fn a_restriction_is_lowered_and_put_back() {
    let shown = Setting::new(1, 2);
    drop(Revealed::new(&shown));
    assert_eq!(shown.written.take(), [0; 0], "addresses show as it is");

    let mut stays = Setting::new(2, 1);
    stays.stays = true;
    assert!(Revealed::new(&stays).is_err_and(|why| why.contains("--keep-kptr-restrict")));
    assert_eq!(stays.written.take(), [0; 0], "the operator keeps it");
    *stays.level.borrow_mut() = 0;
    assert!(Revealed::new(&stays).is_ok(), "addresses show as it is");

    let hidden = Setting::new(2, 1);
    let revealed = Revealed::new(&hidden);
    assert!(revealed.is_ok() && !hidden.is_hidden().unwrap_or(true));
    drop(revealed);
    assert_eq!(hidden.written.take(), [1, 0, 2]);

    // However it ends.
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _revealed = Revealed::new(&hidden);
        panic!("while the file is read");
    }));
    assert!(panics.is_err());
    assert_eq!(hidden.written.take(), [1, 0, 2]);

    let helpless = Setting::new(2, 0);
    assert!(Revealed::new(&helpless).is_err_and(|why| why.contains("no lower value helps")));
    assert_eq!(helpless.written.take(), [1, 0, 2]);

    let refused = Setting { refused: Some(0), ..Setting::new(2, 1) };
    assert!(Revealed::new(&refused).is_err_and(|why| why.contains("run as root")));
    assert_eq!(refused.written.take(), [1, 2]);
    for setting in [&shown, &hidden, &helpless, &refused] {
        assert_eq!(setting.remembered.take(), None, "it is as it was found");
    }

    // Nothing was changed, as where /proc/sys is read-only.
    let read_only = Setting { refused: Some(1), ..Setting::new(2, 1) };
    assert!(Revealed::new(&read_only).is_err());
    assert_eq!((read_only.written.take(), read_only.remembered.take()), (vec![], None));
    // What could not be put back is for the next start.
    let stuck = Setting { refused: Some(2), ..Setting::new(2, 1) };
    drop(Revealed::new(&stuck));
    assert_eq!((stuck.written.take(), stuck.remembered.take()), (vec![1, 0], Some(2)));
    let unknown = Setting { forgets: true, ..Setting::new(2, 1) };
    assert!(Revealed::new(&unknown).is_err());
    assert_eq!(unknown.written.take(), [0; 0]);
}

#[test]
fn symbols_have_a_limit() {
    let text = "1000 t one\n1001 d data\n3000 t three\n2000 t two\n";
    for (max, names) in [(0, [None; 3]), (2, [Some("one"), Some("one"), Some("three")])] {
        let mut parser = Parser::with_max(max);
        parser.push(text.as_bytes());
        let symbols = parser.finish();
        assert_eq!(symbols.len(), max);
        assert_eq!([0x1000, 0x2000, 0x3000].map(|address| symbols.name(address)), names);
    }
    assert_eq!(Parser::default().symbols_max, 2 << 20);
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
