#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Habits {
    #[pb(int32, tag = "1")]
    tagged: i32,
    #[pb(string, optional, tag = "2")]
    optional: Option<String>,
    #[pb(uint32, repeated, 3)]
    early: Vec<u32>,
    #[pb(int32, 4, repeated)]
    absent: Vec<Option<i32>>,
    #[pb(int32, 5)]
    twice: Option<Option<i32>>,
    #[pb(int32, 6)]
    list: Option<Vec<i32>>,
    #[pb(bytes, 7)]
    fine: Option<Vec<u8>>,
    #[pb(map(int32, int32), 8)]
    map: BTreeMap<i32, Option<i32>>,
    #[pb(message, 9, repeated)]
    lists: Vec<Vec<Habits>>,
}
