use super::*;

#[test]
fn it_holds_for_the_same_program() {
    let folder = std::env::temp_dir().join(format!("reach-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (path, program) = (folder.join("reach"), folder.join("program"));
    std::fs::write(&program, "1").unwrap();
    assert_eq!(Reach::read(&path, &program), Ok(None), "there is no file");

    let tests = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let reach = Reach {
        time: Duration::from_millis(12_034),
        cpu: Duration::from_millis(8_120),
        tests: BTreeMap::from([(3, tests(&["a::b", "c"])), (17, tests(&["c"]))]),
    };
    reach.write(&path, &program).unwrap();
    assert_eq!(Reach::read(&path, &program), Ok(Some(reach)));
    std::fs::write(&program, "2").unwrap();
    assert_eq!(Reach::read(&path, &program), Ok(None), "another program");
    std::fs::remove_dir_all(&folder).unwrap();
}
