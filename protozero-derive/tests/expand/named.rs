#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(name = "shop.v1.Order", skip_unknown)]
pub(crate) struct Order {
    #[pb(uint64, 1)]
    id: u64,
    #[pb(string, 2)]
    r#type: Option<String>,
    #[pb(string, 3, or_unknown, name = "fooBar")]
    foo_bar: String,
    #[pb(bytes, 4, json = "@raw")]
    raw: Vec<u8>,
    #[pb(enumeration, 5, repeated)]
    modes: Vec<Mode>,
    #[pb(fixed32, 6, packed)]
    parts: Vec<u32>,
    #[pb(oneof, 7, 8)]
    paid: Option<Paid>,
    #[pb(message, 9, boxed)]
    parent: Option<Box<Order>>,
    #[pb(group, 10, repeated)]
    lines: Vec<Line>,
    #[pb(map(string, message), 11)]
    by_name: BTreeMap<String, Line>,
    #[pb(map(int32, enumeration), 12, json = "ids")]
    by_id: BTreeMap<i32, Mode>,
    #[pb(bool, 13, required)]
    is_new: bool,
}
