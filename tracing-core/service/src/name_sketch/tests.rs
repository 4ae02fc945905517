use super::*;

fn of(names: &[String]) -> NameSketch {
    let mut sketch = NameSketch::default();
    names.iter().for_each(|name| sketch.add(name));
    sketch
}

#[test]
fn all_that_were_put_in_are_found() {
    let names: Vec<String> = (0..100).map(|number| format!("name {number}")).collect();
    let all = of(&names);
    assert!(names.iter().all(|name| all.may_share(&of(std::slice::from_ref(name)))));
    let others = (0..1000).map(|number| of(&[format!("other {number}")]));
    let wrong = others.filter(|other| all.may_share(other)).count();
    assert!((50..150).contains(&wrong), "{wrong} of 1000");
    assert!(of(&[]).is_empty() && !all.is_empty() && !of(&[]).may_share(&all));
}
