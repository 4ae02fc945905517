use super::{MISSING, calls, offenders};

#[test]
fn a_panic_is_traced_back_to_our_code() {
    let code = format!(
        "0000000000001000 <main>:\n    1004:\tcall   1100 <ours::read>\n\
         \n0000000000001100 <ours::read>:\n    1104:\tjne    1110 <ours::read+0x10>\n    \
         1108:\tcall   1200 <core::panicking::panic_bounds_check>\n\
         \n0000000000001200 <core::panicking::panic_bounds_check>:\n    \
         1201:\tcall   1300 <core::panicking::panic_fmt>\n\
         \n0000000000001300 <core::panicking::panic_fmt>:\n    1301:\tcall   1400 <{MISSING}>\n"
    );
    let found = offenders(&calls(&code));
    assert_eq!(found, [("ours::read".to_owned(), "1108".to_owned())]);
}
