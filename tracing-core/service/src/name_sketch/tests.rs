use super::*;

#[test]
fn all_that_were_put_in_are_found() {
    let bit = |name: &str, number: u32| NameBit::of(&format!("{name} {number}"));
    let (empty, mut all) = (NameSketch::default(), NameSketch::default());
    (0..100).for_each(|number| all.add(bit("name", number)));
    assert!((0..100).all(|number| all.may_have(bit("name", number))));
    let wrong = (0..1000).filter(|number| all.may_have(bit("other", *number))).count();
    assert!(wrong < 150, "{wrong} of 1000");
    assert!(empty.is_empty() && !all.is_empty() && !empty.may_have(bit("name", 0)));
}
