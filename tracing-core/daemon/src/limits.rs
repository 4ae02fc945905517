//! Every bound of the daemon, with its unit and the reason for its value.

/// Bytes of commands that may wait for one producer before it is disconnected. Upstream disconnects a producer
/// that does not read for 10 ms.
pub const PRODUCER_QUEUE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of replies that wait for one consumer before its further requests are left unread.
pub const CONSUMER_QUEUE_BYTES_PAUSE: usize = 2 * 1024 * 1024;
/// Bytes of replies that may wait for one consumer before it is disconnected. One request that was read can add
/// many replies, so this is far above the pause. Packets do not count, because the service bounds them
/// ([`READ_WINDOW_BYTES`](service::limits::READ_WINDOW_BYTES)).
pub const CONSUMER_QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What the kernel keeps of commands and replies that one producer does not receive, bytes; with its own bookkeeping it
/// is twice as much. A socket takes six times that otherwise, of the memory of the daemon, and no account counts it.
pub const PRODUCER_SOCKET_BYTES: u32 = 16 * 1024;
/// The same for a consumer, until it is sent more than that at once.
pub const CONSUMER_SOCKET_BYTES: u32 = 4 * 1024;
/// The same for a consumer that was sent more, if its socket may become large: as much as the kernel gives each socket.
pub const LARGE_SOCKET_BYTES: u32 = 104 * 1024;
/// Sockets of consumers of one user that may be large. Others stay small, which takes more turns.
pub const LARGE_SOCKETS_PER_USER_MAX: u64 = 64;
/// Sockets of consumers of all users that may be large, but for root and the user of the daemon.
pub const LARGE_SOCKETS_MAX: u64 = 256;
/// What all these sockets may take, in parts of the memory.
pub const LARGE_SOCKET_PARTS: u64 = 2;
/// What the connections of one user may keep together, bytes: parts of frames, and replies that were not taken. A
/// connection that adds to more than that is closed: a user may have thousands.
pub const CONNECTION_BYTES_PER_USER_MAX: usize = 64 * 1024 * 1024;
/// The same in parts of the memory ([`MEMORY_PARTS`](service::limits::MEMORY_PARTS)), where that is less: of one user,
/// and of all users but root and the user of the daemon.
pub const CONNECTION_PARTS: (u64, u64) = (6, 8);
/// What each of them may keep beside that: a few requests and replies on their way.
pub const CONNECTION_BYTES_FREE: usize = 16 * 1024;
/// Files that are being created for one user. A consumer may name a file system of its own, which answers when it
/// likes.
pub const FILES_BEING_CREATED_PER_UID_MAX: usize = 4;
/// Connections accepted in one turn of the loop of the daemon, which bounds how long a flood of them delays other
/// peers.
pub const ACCEPTS_PER_TURN: usize = 64;
/// Of these, connections that are kept, while more are ready than a turn serves: else those that come and leave at once
/// would become ever more, and each turn would take longer to find those it serves.
pub const ADMITTED_WHEN_BEHIND: usize = 4;
/// Connections that one turn of the loop reads, by users in turn, and those whose waiting requests it handles.
pub const CONNECTIONS_PER_TURN: usize = 64;
/// For how long one turn of the loop reads connections, ns; it reads one at least. What one sends in a turn takes some
/// milliseconds to decode at worst. The same time limit holds for waiting requests, for answers of files, and for
/// sending. Each of these handles one at least.
pub const SERVE_NS: u64 = 5_000_000;
/// Requests of one connection handled in one turn of the loop, whatever they ask for: about 100 microseconds.
pub const REQUESTS_PER_TURN: usize = 128;
/// Decoded bytes that take as much of a connection's turn as a request does. Fewer are counted with later ones.
pub const DECODED_BYTES_AT_ONCE: usize = 2 * 1024;
/// Threads that close what peers passed. If users with descriptors that do not close occupy all that they may use, what
/// other users passed waits, too; the loop does not.
pub const CLOSER_THREADS_MAX: usize = 32;
/// So many of these threads are for root and the user of the daemon alone: they can connect while all others wait.
pub const CLOSER_THREADS_KEPT: usize = 2;
/// Those of one user: while one waits, the other closes the rest of an honest user's descriptors.
pub const CLOSER_THREADS_PER_USER_MAX: usize = 2;
/// Descriptors of one user that may wait, for the rest of their request or for a thread that closes them, before no
/// more of them are received: those of one message. It is a sixteenth of the descriptors of the daemon, if that is
/// less.
pub const CLOSER_WAITING_PER_USER_MAX: usize = 256;
/// The same for all users, but for root and the user of the daemon. It is a quarter of the descriptors of the daemon,
/// if that is less. A quarter of it is for users with less than [`CLOSER_WAITING_AT_FIRST`]: a few users cannot keep
/// all others out.
pub const CLOSER_WAITING_MAX: usize = 2048;
/// So many each user may have of that part: the descriptors of one request.
pub const CLOSER_WAITING_AT_FIRST: usize = 2;
/// A user may have at least so many, and all users twice as many.
pub const CLOSER_WAITING_MIN: usize = 4;
/// Files of one user that the service writes at a time, those included whose `close` has not returned. A user has at
/// most 5 sessions and 16 clones. It is an eighth of the descriptors of the daemon, if that is less, but for root and
/// the user of the daemon.
pub const FILES_PER_USER_MAX: usize = 32;
/// Files of all users together, but for root and the user of the daemon. Each has a thread, and a disk or a program may
/// never accept what is written to it.
pub const FILES_OF_USERS_MAX: usize = 128;
/// The same for the first file of a user, so that a few users cannot keep all others out.
pub const FILES_OF_USERS_AT_FIRST_MAX: usize = FILES_OF_USERS_MAX + FILES_OF_USERS_MAX / 4;
/// A user may have so many files, however few descriptors the daemon has.
pub const FILES_PER_USER_MIN: usize = 4;
/// What files in memory of one user may take that the service has written to (tmpfs, memfd, pipes that are not read):
/// this part of the memory of the service. Its pages are memory of the service for as long as the file is there, also
/// after the session. Buffers of all users may take three quarters, and all such files a sixteenth, or a little more at
/// first: a sixth is left for the rest ([`service::shares`] says how it is divided).
pub const FILES_IN_MEMORY_PER_USER_PART: u64 = 32;
/// The same where the memory of the service is not known, bytes.
pub const FILES_IN_MEMORY_PER_USER_BYTES: u64 = 64 * 1024 * 1024;
/// How many times the limit of one user all users but root and that of the daemon may have together.
pub const FILES_IN_MEMORY_USERS_SHARE: u64 = 2;
/// Users with no more than this part of their share may have an eighth more together, so that a few users cannot keep
/// all others out.
pub const FILES_IN_MEMORY_AT_FIRST_PART: u64 = 16;
/// Data that waits to be written into files of all users but root and that of the daemon may be this part of the memory
/// of the service, beside [`WAITING_FREE_BYTES`]. The shell charges pieces with long packets; few others wait, and they
/// are short.
pub const WAITING_PART: u64 = 128;
/// The same where that memory is not known, bytes.
pub const WAITING_BYTES: u64 = 64 * 1024 * 1024;
/// All users may have so many times as much as one of them: the longest piece of a user has a place then, whatever
/// another one has. Such a piece has a pass, and a packet of [`service::limits::PACKET_PART`].
pub const WAITING_USERS_SHARE: u64 = 2;
/// So much of each user may wait beside that, bytes: a pass, and a packet that is not long. So no user's piece without
/// long packets is refused because of what others have.
pub const WAITING_FREE_BYTES: u64 =
    (service::limits::FILE_PASS_BYTES + service::limits::LONG_PACKET_BYTES) as u64;
/// Users that the log keeps accounts of. All further ones share one account.
pub const LOG_USERS_MAX: usize = 1024;
/// Peers that the log keeps accounts of, before it removes those that have not written for a while.
pub const LOG_PEERS_MAX: usize = 4096;
/// Users whose number of lines that were not written is told in a line each. One more line is about all others.
pub const LOG_USERS_TOLD_MAX: usize = 16;
/// When the number of lines that were not written is told, ns after the first of them.
pub const LOG_TELL_NS: u64 = 10_000_000_000;
/// Users of whom it is remembered how often connections, and how often files, were refused to them.
pub const REFUSED_USERS_MAX: usize = 1024;
/// Lines of the log that wait for a slow reader. Further ones are counted, and their number is told.
pub const LOG_LINES_WAITING_MAX: usize = 1024;
/// Bytes of one line. The rest is cut.
pub const LOG_LINE_BYTES_MAX: usize = 4096;
/// Of the descriptors that can be opened when the daemon starts, this part is not for connections: it is for files of
/// traces, and for what is on its way from a peer.
pub const DESCRIPTORS_RESERVED_PART: u64 = 4;
/// So many descriptors are not for connections, however few there are.
pub const DESCRIPTORS_RESERVED_MIN: u64 = 16;
/// Descriptors for connections, whatever the system and the memory allow.
pub const CONNECTION_DESCRIPTORS_MAX: u64 = 32 * 1024;
/// What a connection takes of the memory for each of its descriptors, bytes, beside what is on accounts: what its
/// socket holds, [`CONNECTION_BYTES_FREE`], and what is known of it. A producer has two, and takes up to about 50 KiB;
/// tables of the kernel for shared memory of 32 MiB may take 64 KiB more. There are as many descriptors for connections
/// as fit into the memory that the shares of all users leave.
pub const DESCRIPTOR_BYTES: u64 = 32 * 1024;
/// What is left for the service itself, in parts of the memory.
pub const SERVICE_PARTS: u64 = 8;
/// The last ones are for root and the user of the daemon alone. Whatever others hold, they get none of this part.
pub const DESCRIPTORS_KEPT_PART: u64 = 16;
/// So many descriptors are for root and the user of the daemon, however few there are.
pub const DESCRIPTORS_KEPT_MIN: u64 = 8;
/// To map or unmap memory of a peer takes long if it takes longer than this, ns. To unmap 32 MiB and free all their
/// pages, as for an honest producer that has left, takes 12 to 15 ms.
pub const SLOW_MEMORY_NS: u64 = 50_000_000;
/// The memory of a user waits so many times as long as that took.
pub const MEMORY_WAIT_TIMES: u64 = 8;
/// It waits no longer than this, ns.
pub const MEMORY_WAIT_NS_MAX: u64 = 10_000_000_000;
/// How old the number of descriptors that can be opened may be, ns. Other threads open some, too.
pub const DESCRIPTORS_ASKED_NS: u64 = 100_000_000;
/// The same where the kernel does not know it (before Linux 6.2). To count 32,768 of them takes some 50 ms.
pub const DESCRIPTORS_COUNTED_NS: u64 = 100 * DESCRIPTORS_ASKED_NS;
/// A call on the socket of a peer is slow if it takes longer than this, ns. Others take some microseconds; one that
/// moves as much as a socket has takes a tenth of this.
pub const SLOW_CALL_NS: u64 = 2_000_000;
/// How much of the processor the slow calls on one connection may take before it is cut, ns.
pub const CALLS_NS_MAX: u64 = 20_000_000;
/// Of that sum one ns is forgotten in so many ns: a slow call now and then cuts nobody.
pub const CALLS_FORGOTTEN_IN: u64 = 1000;
/// A user waits so many times as long as slow calls took.
pub const CALLS_WAIT_TIMES: u64 = 8;
/// A user waits no longer than this, ns.
pub const CALLS_WAIT_NS_MAX: u64 = 10_000_000_000;
/// For how long after a slow call the loop reads the clock of its thread in each turn, ns.
pub const CALLS_WATCHED_NS: u64 = 10_000_000_000;
