#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Maps {
    #[pb(map, 1)]
    no_kinds: BTreeMap<u32, u32>,
    #[pb(map(uint32), 2)]
    one_kind: BTreeMap<u32, u32>,
    #[pb(map(double, uint32), 3)]
    float_key: BTreeMap<f64, u32>,
    #[pb(map(bytes, uint32), 4)]
    bytes_key: BTreeMap<Vec<u8>, u32>,
    #[pb(map(string, group), 5)]
    group_value: BTreeMap<String, Other>,
    #[pb(map(string, map), 6)]
    map_value: BTreeMap<String, Other>,
    #[pb(map(string, uint32), 7)]
    no_map: Vec<(String, u32)>,
    #[pb(map(string, uint32), 8)]
    wrong_key: BTreeMap<u32, u32>,
    #[pb(map(string, uint32), 9)]
    wrong_value: HashMap<String, i64>,
    #[pb(map(uint32, uint32), 10, or_unknown)]
    nothing_to_check: BTreeMap<u32, u32>,
    #[pb(map(uint32, uint32), 11, repeated)]
    repeated: BTreeMap<u32, u32>,
    #[pb(map(uint32, uint32, uint32), 12)]
    three_kinds: BTreeMap<u32, u32>,
    #[pb(map(uint32, uint32))]
    no_number: BTreeMap<u32, u32>,
    #[pb(map(enumeration, uint32), 13)]
    enum_key: BTreeMap<Color, u32>,
    #[pb(btree_map, 14)]
    habit: BTreeMap<u32, u32>,
    #[pb(map(uint32, uint32), 15, default = 3)]
    default: BTreeMap<u32, u32>,
}
