#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Words {
    #[pb(bytes, 1, or_unknown)]
    checked_bytes: Vec<u8>,
    #[pb(uint32, 2, required)]
    required_option: Option<u32>,
    #[pb(uint32, 3, required, repeated)]
    required_list: Vec<u32>,
    #[pb(uint32, 4, default)]
    no_default: Option<u32>,
    #[pb(uint32, 5, default = 7)]
    plain_default: u32,
    #[pb(message, 6, default = Other::NONE)]
    message_default: Option<Other>,
    #[pb(uint32, 7, default = 7, default = 8)]
    two_defaults: Option<u32>,
    #[pb(uint32, 8, tag)]
    habit: Option<u32>,
    #[pb(uint32, 9, unknown)]
    no_word: Option<u32>,
    #[pb(group, 10)]
    bare_group: Other,
    #[pb(group, 11, packed)]
    packed_group: Vec<Other>,
    #[pb(group, 12)]
    forgot_boxed: Option<Box<Other>>,
    #[pb(unknown, extension)]
    unknown_fields: UnknownFields,
    #[pb(string, 13)]
    borrowed: &'static str,
    #[pb(bytes, 14, repeated)]
    borrowed_many: Vec<&'static [u8]>,
    #[pb(Uint32, 15)]
    upper_case: Option<u32>,
    #[pb(uint32, 19999)]
    last_reserved: Option<u32>,
    #[pb(uint32, 4294967297)]
    far_too_large: Option<u32>,
    #[pb(uint32, 1.5)]
    fraction: Option<u32>,
}
