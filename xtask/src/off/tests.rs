use super::{Program, same, sections};

fn program(text: u64, ours: usize) -> Program {
    let table =
        format!("a.out  :\nsection   size   addr\n.rodata     16   100\n.text     {text}   200\n");
    Program { sections: sections(&table).expect("sections"), ours }
}

#[test]
fn one_byte_or_one_symbol_is_seen() {
    let plain = program(4096, 0);
    assert_eq!(same(&plain, &program(4096, 0)), Ok(()));
    assert!(same(&plain, &program(4097, 0)).is_err());
    assert!(same(&plain, &program(4096, 1)).is_err());
    let more = Program { sections: Vec::new(), ours: 0 };
    assert!(same(&more, &plain).is_err());
    assert!(sections("").is_err());
}
