//! Large messages with the maximum depth, on a small stack.

use std::collections::BTreeMap;

use protozero::Message;

macro_rules! tenfold {
    ($name:ident, $attribute:ident, $of:ty) => {
        #[derive(Clone, PartialEq, Debug, Default, Message)]
        #[pb(skip_unknown)]
        struct $name {
            #[pb($attribute, 1)]
            a: Option<$of>,
            #[pb($attribute, 2)]
            b: Option<$of>,
            #[pb($attribute, 3)]
            c: Option<$of>,
            #[pb($attribute, 4)]
            d: Option<$of>,
            #[pb($attribute, 5)]
            e: Option<$of>,
            #[pb($attribute, 6)]
            f: Option<$of>,
            #[pb($attribute, 7)]
            g: Option<$of>,
            #[pb($attribute, 8)]
            h: Option<$of>,
            #[pb($attribute, 9)]
            i: Option<$of>,
            #[pb($attribute, 10)]
            j: Option<$of>,
        }
    };
}

tenfold!(Numbers, int64, i64);
tenfold!(Hundred, message, Numbers);
tenfold!(Thousand, message, Hundred);

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Large {
    #[pb(message, 1)]
    thousand: Option<Thousand>,
    #[pb(message, 2, boxed)]
    single: Option<Box<Large>>,
    #[pb(message, 3, repeated)]
    repeated: Vec<Large>,
    #[pb(map(int32, message), 4)]
    map: BTreeMap<i32, Large>,
}

/// A message with `levels` nested messages of field `number`.
fn nested(number: u8, levels: usize) -> Vec<u8> {
    let around = |number: u8, body: Vec<u8>| {
        let mut all = vec![number << 3 | 2];
        let mut len = body.len();
        while len >= 0x80 {
            all.push(len as u8 | 0x80);
            len >>= 7;
        }
        all.push(len as u8);
        all.extend(body);
        all
    };
    (0..levels).fold(Vec::new(), |body, _| {
        let entry = if number == 4 { around(2, body) } else { body };
        around(number, entry)
    })
}

#[test]
fn decoding_takes_little_stack_whatever_the_size() {
    assert!(size_of::<Large>() > 16_000);
    for (number, levels) in [(2, 100), (3, 100), (4, 50)] {
        let bytes = nested(number, levels);
        let decode = move || Large::decode(&bytes).map(|large| large.encode_to_vec().len());
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(decode).unwrap();
        assert!(thread.join().unwrap().unwrap() > 2 * levels, "{number}");
    }
}
