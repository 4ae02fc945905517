#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(name = "shop.Order", skip_unknown)]
struct Order {
    #[pb(uint64, 1)]
    foo_bar: u64,
    #[pb(uint64, 2)]
    fooBar: u64,
    #[pb(uint64, 3, name = "foo_bar")]
    third: u64,
    #[pb(uint64, 4, json = "fooBar")]
    fourth: u64,
    #[pb(uint64, 5)]
    größe: u64,
    #[pb(uint64, 6, name = "a-b")]
    dash: u64,
    #[pb(uint64, 7, name)]
    no_text: u64,
    #[pb(uint64, 8, json = x)]
    no_literal: u64,
    #[pb(uint64, 9, name = "a", name = "b")]
    two_names: u64,
    #[pb(map(string, string), 10, packed)]
    map: BTreeMap<String, String>,
}
