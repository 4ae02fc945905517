use super::*;
use crate::config::RegionFactory;
use crate::shares::MemoryShares;
use abi::shm::Region;
use abi::sync::Arc;

const MIB: usize = 1 << 20;

const USER: User = User { machine: 0, uid: 1000 };

#[test]
fn one_user_cannot_take_the_share_of_another() {
    let mut accounts = Accounts::new(500, 1);
    let max = limits::SOURCE_BYTES_PER_USER_MAX;
    assert!(accounts.charge(USER, Resource::SourcesAndWriters, max).is_ok());
    assert!(accounts.charge(USER, Resource::SourcesAndWriters, 1).is_err());
    assert_eq!(accounts.refused(), 1);
    // Other things of it, and the same of others, are not touched.
    assert!(accounts.charge(USER, Resource::Memory, 1).is_ok());
    assert!(accounts.charge(User { uid: 1001, ..USER }, Resource::SourcesAndWriters, max).is_ok());
    accounts.release(USER, Resource::SourcesAndWriters, 1);
    assert!(accounts.charge(USER, Resource::SourcesAndWriters, 1).is_ok());
}

#[test]
fn many_users_together_leave_root_and_the_service_their_share() {
    let mut accounts = Accounts::new(500, 1);
    let max = limits::SOURCE_BYTES_PER_USER_MAX;
    for uid in 0..limits::USERS_SHARE as u32 {
        assert!(
            accounts.charge(User { machine: 7, uid }, Resource::SourcesAndWriters, max).is_ok()
        );
    }
    assert!(accounts.charge(USER, Resource::SourcesAndWriters, 1).is_err());
    assert!(accounts.charge(User { machine: 0, uid: 0 }, Resource::SourcesAndWriters, max).is_ok());
    assert!(
        accounts.charge(User { machine: 0, uid: 500 }, Resource::SourcesAndWriters, max).is_ok()
    );
    accounts.release(User { machine: 7, uid: 0 }, Resource::SourcesAndWriters, 1);
    assert!(accounts.charge(USER, Resource::SourcesAndWriters, 1).is_ok());
}

#[test]
fn an_account_with_nothing_on_it_is_forgotten() {
    let mut accounts = Accounts::new(500, 1);
    assert!(accounts.charge(USER, Resource::SourcesAndWriters, 0).is_ok());
    assert_eq!(accounts.len(), 0);
    assert!(accounts.charge(USER, Resource::SourcesAndWriters, 10).is_ok());
    assert!(accounts.charge(USER, Resource::Memory, 10).is_ok());
    accounts.release(USER, Resource::SourcesAndWriters, 10);
    assert_eq!((accounts.len(), accounts.held(USER, Resource::Memory)), (1, 10));
    accounts.release(USER, Resource::Memory, 10);
    assert_eq!(accounts.len(), 0);
}

#[test]
fn checks_come_at_random_and_often_enough() {
    let mut accounts = Accounts::new(500, 1);
    let waits: Vec<u64> = (0..1000).map(|_| accounts.next_check().into()).collect();
    let mean = waits.iter().sum::<u64>() / 1000;
    let wanted = limits::USES_PER_CHECK;
    assert!((wanted * 3 / 4..wanted * 5 / 4).contains(&mean), "{mean}");
    assert!(waits.iter().any(|wait| wait * 4 < wanted) && waits.iter().any(|wait| *wait > wanted));
}

struct NoRegions;

impl RegionFactory for NoRegions {
    fn create(&self, _: usize) -> Result<Region, String> {
        Err(String::new())
    }
}

#[test]
fn what_traces_tell_does_not_decide_which_pages_are_checked() {
    let waits = |seed, check_seed| -> Vec<u32> {
        let mut config = ServiceConfig::new(Arc::new(NoRegions));
        (config.seed, config.check_seed) = (seed, check_seed);
        let mut accounts = Accounts::of_service(&config);
        (0..8).map(|_| accounts.next_check()).collect()
    };
    assert_eq!(waits(1, 5), waits(3, 5));
    assert_ne!(waits(1, 5), waits(1, 7));
}

#[test]
fn distrust_is_of_one_user() {
    let mut accounts = Accounts::new(500, 1);
    assert!(!accounts.is_distrusted(USER));
    accounts.distrust(USER);
    assert!(accounts.is_distrusted(USER) && !accounts.is_distrusted(User { uid: 1, ..USER }));
}

#[test]
fn shared_memory_of_a_user_is_bounded() {
    let mut accounts = Accounts::new(500, 1);
    let max = limits::SMB_BYTES_PER_USER_MAX;
    assert!(accounts.charge(USER, Resource::Memory, max + 1).is_err());
    assert!(accounts.charge(USER, Resource::Memory, max).is_ok());
    assert!(accounts.charge(USER, Resource::Memory, 1).is_err());
}

#[test]
fn shares_follow_a_small_memory() {
    let of = |memory: u64| {
        let MemoryShares { sources, caught_memory, codecs, decoded, .. } =
            MemoryShares::new(memory);
        let shares = [sources, caught_memory, codecs, decoded];
        shares.map(|share| (share.of_one / MIB, share.of_all / MIB))
    };
    for memory in [0, 32 << 30, u64::MAX] {
        assert_eq!(of(memory), [(16, 64), (64, 256), (40, 160), (8, 32)], "{memory}");
    }
    // Less than 256 MiB counts as that.
    for memory in [1, 100 << 20, 256 << 20] {
        assert_eq!(of(memory), [(2, 3), (2, 3), (8, 10), (1, 2)], "{memory}");
    }
    assert_eq!(of(1 << 30), [(8, 12), (8, 12), (32, 40), (4, 8)]);
    let mut accounts = Accounts::with_memory(256 << 20);
    for (what, max) in [(Resource::SourcesAndWriters, 2 * MIB), (Resource::Codecs, 8 * MIB)] {
        assert!(
            accounts.charge(USER, what, max + 1).is_err()
                && accounts.charge(USER, what, max).is_ok()
        );
    }
    let sum = MemoryShares::new(256 << 20).sum();
    assert_eq!((sum.of_one / MIB, sum.of_all / MIB), (128 + 13, 192 + 18));
}

/// Users that were caught share an amount of their own: what honest users have touched takes none of it.
#[test]
fn users_that_were_caught_have_another_share() {
    let mut accounts = Accounts::with_memory(256 << 20);
    let [honest, first, second] = [1, 2, 3].map(User::local);
    assert!(accounts.charge(honest, Resource::Memory, 64 * MIB).is_ok());
    for user in [first, second, User::local(0)] {
        accounts.catch(user);
    }
    assert_eq!(
        [first, second, User::local(0)].map(|user| accounts.is_caught(user)),
        [true, true, false]
    );
    assert!(accounts.charge(first, Resource::Memory, 2 * MIB + 1).is_err());
    assert!(accounts.charge(first, Resource::Memory, 2 * MIB).is_ok());
    assert!(accounts.charge(second, Resource::Memory, MIB + 1).is_err());
    assert!(accounts.charge(second, Resource::Memory, MIB).is_ok());
    assert!(!accounts.fits(second, Resource::Memory, 1));
    let why = accounts.check(second, Resource::Memory, 1).unwrap_err().to_string();
    let of_all =
        format!("users that removed shared memory have {} of at most {}", 3 * MIB, 3 * MIB);
    assert!(why.contains(&of_all), "{why}");
    accounts.release(first, Resource::Memory, 1);
    assert!(accounts.fits(second, Resource::Memory, 1));
    // What a user has touched before it is caught counts, too.
    accounts.catch(honest);
    accounts.catch(honest);
    assert!(!accounts.fits(second, Resource::Memory, 1));
    accounts.release(honest, Resource::Memory, 64 * MIB);
    assert!(
        accounts.fits(second, Resource::Memory, 1) && !accounts.fits(second, Resource::Memory, 2)
    );
}

/// What a user that was caught leaves stays on its account, until the kernel counts less.
#[test]
fn memory_of_those_that_are_gone_shrinks_to_what_the_kernel_counts() {
    let mut accounts = Accounts::new(500, 1);
    let users = [1, 2].map(User::local);
    let leave = |accounts: &mut Accounts, user: User, bytes| {
        accounts.catch(user);
        assert!(accounts.charge(user, Resource::Memory, bytes).is_ok());
        accounts.add_gone(user, bytes);
    };
    let held = |accounts: &Accounts| users.map(|user| accounts.held(user, Resource::Memory));
    leave(&mut accounts, users[0], 30);
    leave(&mut accounts, users[1], 10);
    accounts.note_unreclaimable(None);
    accounts.note_unreclaimable(Some(1000));
    assert_eq!(held(&accounts), [30, 10]);
    accounts.note_unreclaimable(Some(20));
    assert_eq!(held(&accounts), [15, 5]);
    // The kernel did not count what came after the question.
    leave(&mut accounts, users[0], 7);
    accounts.note_unreclaimable(Some(20));
    assert_eq!(held(&accounts), [22, 5]);
    leave(&mut accounts, users[1], 5);
    accounts.note_unreclaimable(Some(11));
    assert_eq!(held(&accounts), [11, 5], "both by the same part");
    accounts.note_unreclaimable(Some(0));
    assert_eq!((held(&accounts), accounts.len()), ([0, 0], 0));
}

fn trust_of(accounts: &Accounts, user: User) -> (bool, bool) {
    (accounts.is_distrusted(user), accounts.is_caught(user))
}

/// Beyond the limit nobody is trusted: a person with many user numbers could have each of them caught, and then remove
/// memory as another one.
#[test]
fn users_that_are_not_trusted_are_bounded() {
    let mut accounts = Accounts::new(500, 1);
    let max = limits::DISTRUSTED_USERS_MAX as u32;
    let remote = |uid| User { machine: 1, uid };
    for uid in 0..max {
        accounts.catch(remote(uid));
    }
    let honest = remote(max + 1);
    assert!(accounts.charge(honest, Resource::Memory, 100).is_ok());
    // Of the user of the service, too, nothing more is remembered.
    accounts.distrust(User::local(500));
    assert_eq!(trust_of(&accounts, honest), (false, false));
    accounts.catch(remote(max));
    let users = [remote(max - 1), remote(max), honest, User::local(500), User::local(0)];
    let expected = [(true, true), (true, true), (true, true), (false, false), (false, false)];
    assert_eq!(users.map(|user| trust_of(&accounts, user)), expected);
    // What they have counts as that of users that were caught.
    let caught = |accounts: &Accounts| accounts.total_with(honest, Resource::Memory).0;
    assert_eq!(caught(&accounts), 100);
    accounts.distrust(remote(max + 2));
    assert!(accounts.charge(remote(max), Resource::Memory, 10).is_ok());
    accounts.release(honest, Resource::Memory, 100);
    assert_eq!((caught(&accounts), accounts.distrusted.len()), (10, max as usize));
}

/// Those that only wrote zeros make place for those that were caught.
#[test]
fn a_user_that_is_caught_takes_the_place_of_one_that_wrote_zeros() {
    let mut accounts = Accounts::new(500, 1);
    let max = limits::DISTRUSTED_USERS_MAX as u32;
    let remote = |uid| User { machine: 1, uid };
    for uid in 0..max {
        accounts.distrust(remote(uid));
    }
    assert!(accounts.charge(remote(max), Resource::Memory, 100).is_ok());
    accounts.catch(remote(max));
    let users = [remote(0), remote(1), remote(max), remote(max + 1)];
    let expected = [(false, false), (true, false), (true, true), (false, false)];
    assert_eq!(users.map(|user| trust_of(&accounts, user)), expected);
    assert_eq!(accounts.total_with(remote(max), Resource::Memory).0, 100);
    assert_eq!(accounts.distrusted.len(), max as usize);
    // One of those that are remembered may be caught, too, once.
    assert!(accounts.charge(remote(1), Resource::Memory, 10).is_ok());
    accounts.catch(remote(1));
    accounts.catch(remote(1));
    assert_eq!(accounts.total_with(remote(max), Resource::Memory).0, 110);
    // One that finds no place makes others no worse than it is itself.
    accounts.distrust(remote(max + 1));
    let users = [remote(1), remote(max), remote(max + 1), remote(max + 2), User::local(0)];
    let expected = [(true, true), (true, true), (true, false), (true, false), (false, false)];
    assert_eq!(users.map(|user| trust_of(&accounts, user)), expected);
    assert_eq!(accounts.total_with(remote(max), Resource::Memory).0, 110);
}

/// The range of ids of one person takes one place: others stay trusted.
#[test]
fn a_block_of_user_ids_is_caught_whole() {
    for machine in [0, 7] {
        let of = |uid| User { machine, uid };
        let mut accounts = Accounts::new(65_536 + 4, 1);
        let max = limits::DISTRUSTED_USERS_PER_BLOCK_MAX as u32;
        let block = 65_536;
        let innocent = of(2 * block - 1);
        assert!(accounts.charge(innocent, Resource::Memory, 100).is_ok());
        assert!(accounts.charge(of(block + 6), Resource::Memory, 10).is_ok());
        accounts.distrust(of(block + 4));
        (0..max).for_each(|number| accounts.catch(of(block + 2 * number + 1)));
        let is_caught = |accounts: &Accounts, uid| accounts.is_caught(of(uid));
        assert!(!is_caught(&accounts, block + 6) && !accounts.is_distrusted(innocent));
        accounts.catch(of(block + 2));
        assert_eq!(trust_of(&accounts, innocent), (true, true));
        let uids = [block - 1, block, block + 6, block + 2, 2 * block];
        let expected = [false, true, true, true, false];
        assert_eq!(uids.map(|uid| is_caught(&accounts, uid)), expected);
        // The user of the service is one of them.
        assert_eq!(is_caught(&accounts, block + 4), machine != 0);
        assert_eq!(accounts.distrusted.len(), usize::from(machine == 0));
        assert_eq!(accounts.total_with(innocent, Resource::Memory).0, 110);
        accounts.catch(of(block + 6));
        accounts.release(innocent, Resource::Memory, 100);
        assert_eq!(accounts.total_with(innocent, Resource::Memory).0, 10);
        // Where the users of most machines are, each stays for itself.
        (0..4 * max).for_each(|uid| accounts.catch(of(uid + 1000)));
        assert!(!is_caught(&accounts, 999) && is_caught(&accounts, 1000));
    }
}

/// Honest programs may write zeros: users with such ones are read in copies, if need be as a block, and pay nothing.
#[test]
fn a_block_of_users_that_wrote_zeros_is_not_caught() {
    let mut accounts = Accounts::new(500, 1);
    let max = limits::DISTRUSTED_USERS_PER_BLOCK_MAX as u32;
    let of = |number| User::local(65_536 + number);
    accounts.catch(of(0));
    (1..max).for_each(|number| accounts.distrust(of(number)));
    let innocent = of(65_535);
    assert_eq!(trust_of(&accounts, innocent), (false, false));
    accounts.distrust(of(max));
    let trust = [of(0), of(1), of(max), innocent].map(|user| trust_of(&accounts, user));
    assert_eq!(trust, [(true, true), (true, false), (true, false), (true, false)]);
    assert_eq!(accounts.distrusted.len(), 1);
    (1..=max).for_each(|number| accounts.catch(of(number)));
    assert_eq!(trust_of(&accounts, innocent), (true, true));
    assert_eq!(accounts.distrusted.len(), 0);
}

#[test]
fn blocks_that_are_distrusted_are_bounded() {
    let mut accounts = Accounts::new(500, 1);
    let (blocks, of_each) = (limits::DISTRUSTED_BLOCKS_MAX, limits::DISTRUSTED_USERS_PER_BLOCK_MAX);
    for machine in 2..=blocks as u32 {
        accounts.distrusted_blocks.insert((machine, 1), Distrust::Zeros);
    }
    for block in 1..=2 {
        (0..=of_each as u32).for_each(|uid| accounts.catch(User::local(block << 16 | uid)));
    }
    assert_eq!(
        (accounts.distrusted_blocks.len(), accounts.distrusted.len()),
        (blocks, of_each + 1)
    );
}

/// Whose memory is on the account because of what it did, its memory is read in copies.
#[test]
fn a_user_that_is_caught_is_not_trusted() {
    let mut accounts = Accounts::new(500, 1);
    accounts.catch(USER);
    accounts.catch(User::local(500));
    assert!(accounts.is_caught(USER) && accounts.is_distrusted(USER));
    // Nor is it trusted again.
    accounts.distrust(USER);
    assert!(accounts.is_caught(USER));
    let own = User::local(500);
    assert!(!accounts.is_caught(own), "the service trusts its own user");
}

#[test]
fn faults_of_so_many_users_are_remembered() {
    let mut accounts = Accounts::new(500, 1);
    let users = limits::FAULTY_USERS_MAX as u32;
    for uid in 0..=users {
        accounts.distrust(User::local(uid));
        assert!(accounts.charge(User::local(uid), Resource::Codecs, usize::MAX).is_err());
    }
    let of = |uid: u32| {
        let user = User::local(uid);
        (accounts.holes_of(user), accounts.refused_to(user, Resource::Codecs))
    };
    assert_eq!((of(0), of(users - 1), of(users)), ((1, 1), (1, 1), (0, 0)));
    assert_eq!(
        (accounts.users().count(), accounts.refused()),
        (users as usize, u64::from(users) + 1)
    );
}

/// A number means another user on another machine.
#[test]
fn a_user_of_another_machine_has_no_number_here() {
    assert_eq!(User::local(42).uid_here(), Some(42));
    assert_eq!(User { machine: 7, uid: 42 }.uid_here(), None);
}
