#[derive(Clone, PartialEq, Debug, Oneof)]
enum Paid {
    #[pb(uint64, 7)]
    CardNumber(u64),
    #[pb(string, 8, name = "byBank", json = "bank")]
    Bank(String),
    #[pb(group, 10)]
    HTTPVoucher(Voucher),
}
