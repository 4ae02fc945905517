use std::sync::mpsc::channel;

use super::*;

fn wait(question: &UnreclaimableQuestion) {
    while question.is_running() {
        std::thread::yield_now();
    }
}

#[test]
fn an_answer_comes_with_the_next_question() {
    let question = UnreclaimableQuestion::default();
    assert_eq!(question.ask_with(|| Some(1)), None);
    wait(&question);
    assert_eq!(question.ask_with(|| Some(2)), Some(1));
    wait(&question);
    assert_eq!(question.ask_with(|| None), Some(2));
    wait(&question);
    assert_eq!(question.ask_with(|| Some(3)), None, "the kernel did not tell");
}

/// Counting that began before a question is no answer to it: it may lack what was taken meanwhile.
#[test]
fn a_late_answer_is_dropped() {
    let question = UnreclaimableQuestion::default();
    let (end, ends) = channel();
    question.ask_with(move || ends.recv().ok());
    assert_eq!(question.ask_with(|| Some(7)), None);
    end.send(5).unwrap();
    wait(&question);
    assert_eq!(question.ask_with(|| Some(8)), None);
    wait(&question);
    assert_eq!(question.ask_with(|| Some(9)), Some(8));
}

#[test]
fn the_kernel_is_asked() {
    let question = UnreclaimableQuestion::default();
    question.ask();
    wait(&question);
    let tells = Group::own().is_some_and(|group| group.unreclaimable_bytes().is_some());
    assert_eq!(question.ask().is_some(), tells);
}
