use super::*;

#[test]
fn what_is_in_memory_stays() {
    for (from, to) in [(0, 3 << 16), (1, 0), (1, 1), (5, 4097), (4095, 12_289)] {
        let mut memory = vec![7_u8; 3 << 16];
        let mut spare = Vec::with_capacity(3 << 16);
        fault_in(spare.spare_capacity_mut().get_mut(from..to).unwrap_or_default());
        spare.append(&mut memory);
        fault_in(spare.spare_capacity_mut());
        assert!(spare.iter().all(|byte| *byte == 7));
    }
}
