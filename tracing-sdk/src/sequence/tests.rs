use super::late::{LateEnd, LateEnds, ON_TRACKS_MAX};

/// A program can make as many slices on tracks as it likes, so their ends must not fill the memory.
#[test]
fn late_ends_on_tracks_have_a_limit() {
    let end = |track| LateEnd { time_ns: 1, track, had_arguments: false };
    let mut ends = LateEnds::default();
    assert!(ends.push(end(None)));
    assert!((0..ON_TRACKS_MAX).all(|_| ends.push(end(Some(7)))));
    assert!(!ends.push(end(Some(7))), "one too many");
    assert!(ends.push(end(None)), "a thread has as many as guards");
    assert_eq!(ends.len(), ON_TRACKS_MAX + 2);
    // One that is written makes room, if it was on a track.
    ends.remove_first();
    assert!(!ends.push(end(Some(7))));
    ends.remove_first();
    assert!(ends.push(end(Some(7))));
    assert!(!ends.push(end(Some(7))));
}

/// A thread that records once a second would otherwise lose about twenty events, although there is memory again.
#[cfg(all(feature = "in-process", not(feature = "off")))]
#[test]
fn memory_is_asked_for_again_after_a_millisecond() {
    use super::{Arguments, Members, RETRY_NS, Sequence, Spec};
    use crate::event::annotate::Simple;
    use crate::event::annotation_value::AnnotationValue;
    use crate::intern::{EventName, StaticName};
    use crate::source::registry;
    use crate::tests::{A, Place, SHM_BYTES, alone};

    static NAME: StaticName = StaticName::event("seldom");
    static KEYS: [StaticName; 1] = [StaticName::key("text")];

    let _alone = alone();
    registry::register(&[&A]);
    let mut place = Place::new();
    let consumer = place.start();
    let running = registry::instances().slots.into_iter().flatten().next();
    let mut sequence = Sequence::new(running.expect("an instance"));
    let mut is_stored = |now_ns, text: &str| {
        let spec = Spec::instant(Members::One(&A), EventName::Static(&NAME));
        let values = [AnnotationValue::Simple(Simple::Str(text))];
        let mut arguments = Arguments::Annotations(&KEYS, &values);
        sequence.write(now_ns, &spec, Some(&mut arguments)).is_stored
    };
    let lost_ns = crate::clock::now_ns();
    assert!(is_stored(lost_ns, "fits"));
    assert!(!is_stored(lost_ns, &"x".repeat(SHM_BYTES as usize)), "it is larger than the memory");
    // The service takes the chunks, and frees them.
    (0..10).for_each(|_| place.poll());
    assert!(!is_stored(lost_ns + RETRY_NS - 1, "early"));
    assert!(is_stored(lost_ns + RETRY_NS, "due"));
    assert!(is_stored(lost_ns + RETRY_NS, "after it"));
    place.stop(consumer);
}

#[cfg(all(feature = "in-process", not(feature = "off")))]
mod annotations {
    use client::consumer::Consumer;

    use crate::clock;
    use crate::event::annotate::Simple;
    use crate::event::annotation_value::{AnnotationValue, annotation_value};
    use crate::intern::{EventName, StaticName};
    use crate::sequence::{Arguments, Members, Sequence, Spec};
    use crate::source::registry;
    use crate::tests::{A, Place, alone};

    static NAME: StaticName = StaticName::event("annotated");

    /// A session, and a sequence in it that belongs to no thread.
    struct Recording {
        place: Place,
        consumer: Consumer,
        sequence: Sequence,
        /// The events of each case: whether the stream wrote them.
        cases: Vec<Vec<bool>>,
    }

    impl Recording {
        fn new() -> Self {
            registry::register(&[&A]);
            let mut place = Place::new();
            let consumer = place.start();
            let running = registry::instances().slots.into_iter().flatten().next();
            let sequence = Sequence::new(running.expect("an instance"));
            Self { place, consumer, sequence, cases: Vec::new() }
        }

        fn long(&mut self, keys: &'static [StaticName], values: &[AnnotationValue<'_>]) {
            let spec = Spec::instant(Members::One(&A), EventName::Static(&NAME));
            let mut arguments = Arguments::Annotations(keys, values);
            let arguments = Some(&mut arguments);
            let outcome = self.sequence.write_long(clock::now_ns(), &spec, arguments);
            assert!(outcome.is_stored && outcome.panic.is_none());
            self.cases.last_mut().expect("a case").push(true);
        }

        fn short(&mut self, keys: &'static [StaticName], values: &[AnnotationValue<'_>]) -> bool {
            let spec = Spec::instant(Members::One(&A), EventName::Static(&NAME));
            let arguments = Arguments::Annotations(keys, values);
            let is_written = self.sequence.write_short(clock::now_ns(), &spec, Some(&arguments));
            if is_written {
                self.cases.last_mut().expect("a case").push(false);
            }
            is_written
        }

        /// Writes an event through the stream and without it.
        fn check(
            &mut self,
            keys: &'static [StaticName],
            values: &[AnnotationValue<'_>],
            is_short: bool,
        ) {
            self.cases.push(Vec::new());
            // The first one may define names.
            self.long(keys, values);
            // At the end of a chunk only the stream goes on in the next one.
            let is_written = (0..10).any(|_| {
                let is_written = self.short(keys, values);
                self.long(keys, values);
                is_written
            });
            assert_eq!(is_written, is_short, "{values:?}");
        }

        /// The events of each case are equal, apart from those of the stream that go on in another chunk: their
        /// lengths take more bytes.
        fn end(mut self) {
            drop(self.sequence);
            let trace = self.place.stop(self.consumer);
            let packets = fields(&trace, 1);
            let mut events = packets.into_iter().flat_map(|packet| fields(packet, 11));
            for case in self.cases {
                let case: Vec<_> =
                    case.into_iter().map(|long| (long, events.next().expect("an event"))).collect();
                let long = case.iter().filter(|(long, _)| *long).map(|(_, event)| *event);
                let expected = long.min_by_key(|event| event.len());
                let mut short = case.iter().filter(|(long, _)| !long);
                assert!(short.all(|(_, event)| Some(*event) == expected), "{case:02x?}");
            }
            assert_eq!(events.count(), 0);
        }
    }

    fn fields(message: &[u8], number: u32) -> Vec<&[u8]> {
        let mut reader = protozero::Reader::new(message);
        let fields = std::iter::from_fn(|| reader.next_field().expect("a message"));
        fields
            .filter(|field| field.number == number)
            .map(|field| field.value.bytes().expect("bytes"))
            .collect()
    }

    #[test]
    fn are_the_same_without_a_stream() {
        let _alone = alone();
        let mut recording = Recording::new();
        // The numbers of the last ones have three bytes.
        let count = if cfg!(miri) { 200 } else { 17_000 };
        let names = (0..count).map(|n| StaticName::key(String::leak(format!("key {n}"))));
        let keys: &'static [StaticName] = Vec::leak(names.collect());
        keys.iter().for_each(|key| _ = recording.sequence.interning.key(key));
        let text =
            |len| AnnotationValue::Simple(Simple::Str(&"0123456789abcdef".repeat(8).leak()[..len]));
        let simple = |value| [AnnotationValue::Simple(value)];
        for first in [0, 140, count - 8] {
            let keys = &keys[first..];
            let numbers = [0, 1, 127, 128, 16_383, 16_384, u64::MAX >> 8, 1 << 56, u64::MAX];
            for value in numbers {
                recording.check(&keys[..1], &simple(Simple::uint(value)), true);
                recording.check(&keys[..1], &simple(Simple::int(-value.cast_signed())), true);
                recording.check(
                    &keys[..2],
                    &[annotation_value(&&value), annotation_value(&&"text")],
                    true,
                );
            }
            recording.check(&keys[..1], &simple(Simple::bool(true)), true);
            recording.check(&keys[..1], &simple(Simple::pointer(0x7fff_1234_5678)), true);
            recording.check(
                &keys[..2],
                &[annotation_value(&&0.5), annotation_value(&&f32::NAN)],
                true,
            );
            recording.check(
                &keys[..2],
                &[annotation_value(&&None::<u8>), annotation_value(&&Some(7))],
                true,
            );
            recording.check(&keys[..6], &[annotation_value(&&0); 6], true);
            (0..60).for_each(|len| recording.check(&keys[..1], &[text(len)], true));
            // Too long, too many, or of another type.
            (110..128).for_each(|len| recording.check(&keys[..1], &[text(len)], false));
            recording.check(&keys[..2], &[text(50), text(50)], false);
            recording.check(&keys[..8], &[annotation_value(&&u64::MAX); 8], false);
            recording.check(&keys[..2], &[annotation_value(&&1), annotation_value(&&[1])], false);
        }
        recording.end();
    }
}
