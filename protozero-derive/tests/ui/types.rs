#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Types {
    #[pb(uint32, 1)]
    signed: Option<i32>,
    #[pb(string, 2)]
    text: Option<u32>,
    #[pb(bytes, 3)]
    blob: Option<String>,
    #[pb(uint32, 4)]
    list: Vec<u32>,
    #[pb(uint32, 5, repeated)]
    no_list: Option<u32>,
    #[pb(string, 6, packed)]
    packed_text: Vec<String>,
    #[pb(uint32, 7, repeated, packed)]
    both: Vec<u32>,
    #[pb(message, 8)]
    bare_message: Other,
    #[pb(message, 9)]
    forgot_boxed: Option<Box<Other>>,
    #[pb(message, 10, boxed)]
    forgot_box: Option<Other>,
    #[pb(uint32, 11, boxed)]
    boxed_number: Option<u32>,
    #[pb(oneof, 12)]
    bare_oneof: E,
    #[pb(enumeration, 13)]
    no_enumeration: Option<i32>,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
    #[pb(unknown)]
    unknown_again: UnknownFields,
}
