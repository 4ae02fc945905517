use super::*;

#[test]
fn the_runner_is_understood() {
    let output = RunnerOutput::parse(
        "CONFORMANCE TEST BEGIN ====\n\
         ERROR, test=Required.Proto3.ProtobufInput.X.ProtobufOutput: Output was not equal\n\
         CONFORMANCE SUITE FAILED: 698 successes, 4869 skipped, 0 expected failures, 1 unexpected failures.\n\
         CONFORMANCE SUITE PASSED: 0 successes, 883 skipped, 0 expected failures, 0 unexpected failures.\n",
    );
    let failed = vec!["Required.Proto3.ProtobufInput.X.ProtobufOutput".to_owned()];
    assert!(belongs(&failed[0], "proto3", "binary"));
    assert!(!belongs(&failed[0], "proto3", "text"));
    assert_eq!(
        output,
        RunnerOutput { suites: 2, passed: 698, skipped: 5752, failed, warned: vec![] }
    );
}

#[test]
fn processes_of_one_api_kind_are_added_up() {
    let rows = rows("proto2\tbinary\t3\t0\nproto2\tbinary\t4\t1\n").unwrap();
    let row = Row { answered: 7, skipped: 1 };
    assert_eq!(rows, [(("proto2".to_owned(), "binary".to_owned()), row)].into());
}
