//! The clock over simulated hardware: a counter and a kernel's clock that run as a test says.

use proptest::prelude::*;

use super::*;

/// Two clocks and a thread that reads them.
struct Machine {
    /// The true time, ns.
    true_ns: u64,
    ticks: f64,
    boot_ns: f64,
    /// Ticks for each true nanosecond.
    frequency: f64,
    /// Nanoseconds of the kernel's clock for each true one.
    slew: f64,
    clock: CounterClock,
    last_ns: u64,
    kernel_reads: u64,
}

impl Machine {
    fn new(frequency: f64) -> Self {
        Self {
            true_ns: 0,
            // It wraps soon.
            ticks: -1e9,
            boot_ns: 1e12,
            frequency,
            slew: 1.0,
            clock: CounterClock::new(),
            last_ns: 0,
            kernel_reads: 0,
        }
    }

    fn pass(&mut self, ns: u64) {
        self.true_ns += ns;
        self.ticks += ns as f64 * self.frequency;
        self.boot_ns += ns as f64 * self.slew;
    }

    fn ticks(&self) -> u64 {
        (self.ticks as i64).cast_unsigned()
    }

    /// What a thread gets; `noise` is by how much the two clocks are read apart, ns. Returns by how much it is ahead of
    /// the kernel's clock.
    fn read(&mut self, noise: u64) -> i64 {
        let now = Moment { ticks: self.ticks(), ns: self.boot_ns as u64 + noise };
        let line = self.clock.line.get();
        let now_ns = line.at(now.ticks).unwrap_or_else(|| {
            self.kernel_reads += 1;
            let mut calibration = self.clock.calibration.get();
            let line = calibration.line_from(now, &line);
            self.clock.line.set(line);
            self.clock.calibration.set(calibration);
            line.start.ns
        });
        assert!(now_ns >= self.last_ns, "time went back from {} to {now_ns}", self.last_ns);
        self.last_ns = now_ns;
        now_ns.cast_signed() - self.boot_ns as i64
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 256 }, ..Default::default() })]

    #[test]
    fn it_is_near_the_kernel_clock_while_that_is_slewed(
        frequency in prop_oneof![Just(0.024), Just(1.0), 0.02..5.0],
        steps in prop::collection::vec((1..200_000_u64, 0..60_u64, -500_i32..500), 1..2_000),
    ) {
        let mut machine = Machine::new(frequency);
        for (step, noise, slew) in steps {
            // The kernel changes it with each timer tick at most.
            if step < 1_000 {
                machine.slew = 1.0 + f64::from(slew) / 1e6;
            }
            machine.pass(step);
            let lead = machine.read(noise);
            // A tick of the slowest counter has 50 ns.
            prop_assert!(lead.abs() < 1_500, "{lead} ns off");
        }
    }
}

/// Runs for a while, and returns how often the kernel's clock was read, and the largest error.
fn run(machine: &mut Machine, ns: u64) -> (u64, i64) {
    let (end, kernel_reads) = (machine.true_ns + ns, machine.kernel_reads);
    let mut error = 0;
    while machine.true_ns < end {
        machine.pass(10_000);
        error = error.max(machine.read(machine.true_ns % 50).abs());
    }
    (machine.kernel_reads - kernel_reads, error)
}

#[test]
fn it_reads_the_kernel_clock_once_a_millisecond() {
    let mut machine = Machine::new(2.5);
    run(&mut machine, 10_000_000);
    let (kernel_reads, error) = run(&mut machine, 2_000_000_000);
    assert!((1_900..=2_001).contains(&kernel_reads), "{kernel_reads}");
    assert!(error < 200, "{error}");
}

#[test]
fn a_line_that_was_ahead_is_followed_by_one_that_is_less_steep() {
    let mut machine = Machine::new(2.5);
    run(&mut machine, 10_000_000);
    for _ in 0..20 {
        machine.pass(LINE_NS);
        machine.read(0);
        machine.slew = 1.0 - 0.000_4;
        while machine.clock.line.get().at(machine.ticks() + 10).is_some() {
            machine.pass(3);
            machine.read(0);
        }
        assert!(machine.read(0) > 100);
        // Where the lines meet.
        for _ in 0..10 {
            machine.pass(1);
            machine.read(0);
        }
        machine.slew = 1.0;
        run(&mut machine, 3_000_000);
        assert!(machine.read(0) < 100);
    }
}

#[test]
fn a_new_rate_of_the_kernel_clock_is_learnt() {
    let mut machine = Machine::new(2.5);
    run(&mut machine, 3_000_000_000);
    machine.slew = 1.000_4;
    run(&mut machine, 1_500_000_000);
    let (_, error) = run(&mut machine, 100_000_000);
    assert!(error < 150, "{error}");
}

#[test]
fn a_counter_that_jumps_has_no_rate() {
    let mut machine = Machine::new(1.0);
    machine.read(0);
    machine.ticks += 1e18;
    machine.pass(2_000_000);
    machine.read(0);
    assert_eq!(machine.clock.line.get().ticks, 0);
}

#[test]
fn it_survives_a_suspend() {
    let mut machine = Machine::new(2.5);
    run(&mut machine, 50_000_000);
    // The counter stands still or begins at zero.
    for ticks in [machine.ticks, 0.0] {
        machine.boot_ns += 3.6e12;
        machine.ticks = ticks;
        // The line of that moment may be used to its end.
        run(&mut machine, LINE_NS);
        let (_, error) = run(&mut machine, 20_000_000);
        assert!(error < 200, "{error}");
    }
}

#[test]
fn it_uses_the_kernel_clock_where_the_counter_has_no_fixed_rate() {
    let mut machine = Machine::new(2.5);
    for round in 0..1_000 {
        machine.frequency = if round % 2 == 0 { 1.0 } else { 3.0 };
        // Twice as fast for the rest of a line.
        let (_, error) = run(&mut machine, 2_000_000);
        assert!(error < 2_100_000, "{error}");
    }
    // A counter that stands.
    machine.frequency = 0.0;
    run(&mut machine, 10_000_000);
    machine.clock.line.set(Line { ticks: 0, ..machine.clock.line.get() });
    let (kernel_reads, error) = run(&mut machine, 10_000_000);
    assert_eq!((kernel_reads, error < 100), (1_000, true));
}

#[test]
fn an_interrupted_reading_is_repeated() {
    let mut calibration = Calibration { gap: 100, ..Calibration::NEW };
    let counter = Cell::new(0);
    // The first time, 10,000 ticks pass between the readings.
    let gaps = Cell::new([10_000, 50].into_iter());
    let clock = || {
        let mut left = gaps.take();
        counter.set(counter.get() + left.next().unwrap());
        gaps.set(left);
        7
    };
    let moment = calibration.moment(|| counter.get(), clock);
    assert_eq!(moment, Moment { ticks: 10_025, ns: 7 });
    assert_eq!(calibration.gap, 50);
}

#[test]
fn the_clock_of_this_machine_is_the_boot_clock() {
    let clock = CounterClock::new();
    // Until it has used some lines.
    let start = boot_ns();
    let mut last = 0;
    while boot_ns() < start + 10 * LINE_NS {
        let before = boot_ns();
        let now = clock.now_ns();
        let after = boot_ns();
        assert!(now >= last);
        last = now;
        if is_reliable() {
            assert!(now + LINE_NS > before && now < after + LINE_NS);
        }
    }
}
