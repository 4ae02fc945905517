//! An exchange: an order book is written into the free pieces of a ring, in one pass, and read there without a copy.
//!
//! ```sh
//! cargo run -p pbzero --example exchange
//! ```
//!
//! ```text
//!  ring    | in use ... | piece 0 | in use | piece 1 ........ | piece 2 |
//!  message              | head, asks ===== asks, bids ======= bids      |      nothing is moved or copied
//! ```
//!
//! The length of `asks` and that of `bids` are stored when their last byte is written, perhaps in a piece that lies far
//! behind. The schema would be:
//!
//! ```proto
//! message Book {
//!   fixed64 time_ns = 1;
//!   string symbol = 2;
//!   Side asks = 3;
//!   Side bids = 4;
//! }
//! message Side {
//!   repeated Level levels = 1;
//! }
//! message Level {
//!   sint64 price = 1;      // in ticks
//!   uint64 quantity = 2;
//! }
//! ```

use protozero::decode::ScatteredValue;
use protozero::{RangesSink, ScatteredReader, Value, WriteError, field};

struct Level {
    price: i64,
    quantity: u64,
}

/// Writes a book into `pieces`. Returns those that it used, each as long as its content: they are ready for a vectored
/// write to a socket.
fn write<'a, 'b>(
    pieces: &'a mut [&'b mut [u8]],
    symbol: &str,
    asks: &[Level],
    bids: &[Level],
) -> Result<&'a mut [&'b mut [u8]], WriteError> {
    let mut stream = RangesSink::table(pieces);
    {
        let mut book = stream.root();
        field::fixed64::<1>(&mut book, 1_000_000);
        field::string::<2>(&mut book, symbol);
        // Each side ends with its statement: its length is stored then.
        levels(&mut book.nested::<3>(), asks);
        levels(&mut book.nested::<4>(), bids);
    }
    stream.finish()
}

fn levels(side: &mut protozero::Scope<'_>, levels: &[Level]) {
    for level in levels {
        let mut entry = side.nested::<1>();
        field::sint64::<1>(&mut entry, level.price);
        field::uint64::<2>(&mut entry, level.quantity);
    }
}

/// The quantity of all levels of one side of a book.
fn quantity(book: &[&[u8]], side: u32) -> Result<u64, Box<dyn std::error::Error>> {
    let mut sum = 0;
    let mut fields = ScatteredReader::new(book);
    while let Some(field) = fields.next_field()? {
        if field.number != side {
            continue;
        }
        let mut levels = field.value.message()?;
        while let Some(level) = levels.next_field()? {
            let mut level = level.value.message()?;
            while let Some(field) = level.next_field()? {
                if let (2, ScatteredValue::Whole(Value::Varint(quantity))) =
                    (field.number, field.value)
                {
                    sum += quantity;
                }
            }
        }
    }
    Ok(sum)
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut ring = [0u8; 512];
    let (first, rest) = ring.split_at_mut(100);
    let (_in_use, rest) = rest.split_at_mut(30);
    let (second, third) = rest.split_at_mut(140);
    let mut pieces = [first, second, third];

    let level = |number: i64| Level { price: 10_000 + number, quantity: 100 };
    let asks: Vec<Level> = (1..=20).map(level).collect();
    let bids: Vec<Level> = (-10..=-1).map(level).collect();
    let written = write(&mut pieces, "ACME", &asks, &bids)?;
    let book: Vec<&[u8]> = written.iter().map(|piece| &**piece).collect();
    let lengths: Vec<usize> = book.iter().map(|piece| piece.len()).collect();
    println!("a book in pieces of {lengths:?} bytes");

    let (asks, bids) = (quantity(&book, 3)?, quantity(&book, 4)?);
    println!("asks: {asks}, bids: {bids}");
    assert_eq!((asks, bids), (2_000, 1_000));
    Ok(())
}
