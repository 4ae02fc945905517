//! The thread that starts the command, and waits for its end.
//!
//! The kernel can follow what a thread starts (`event-fork` of tracefs). The number of this thread is known before the
//! recording begins, that of the command is not; and it starts nothing but the command.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};

use tracing_core::os::thread;

use crate::failure::{Context, Failure};
use crate::interrupt::{Interrupt, InterruptSender};

/// The thread. It ends when this is dropped, or with the command.
#[derive(Debug)]
pub(super) struct Launcher {
    tid: u32,
    commands: Sender<Command>,
    started: Receiver<io::Result<u32>>,
    /// Lets the thread wait for the command.
    permission: Sender<()>,
}

impl Launcher {
    /// Starts the thread, which waits for a command. Its end is told to `interrupts`.
    ///
    /// # Errors
    /// When the system has no threads left.
    pub(super) fn start(interrupts: InterruptSender) -> Result<Self, Failure> {
        let what = "cannot start a thread";
        let (commands, inbox) = channel();
        let (tids, tid) = channel();
        let (answers, started) = channel();
        let (permission, permitted) = channel();
        let run = move || {
            // What fails to be sent is not waited for.
            let _ = tids.send(thread::id());
            let Ok(mut command) = inbox.recv() else { return };
            let (child, answer) = split(Command::spawn(&mut command));
            let _ = answers.send(answer);
            let Some(mut child) = child else { return };
            // Once it has been waited for, the kernel may give its number to another process.
            let _ = permitted.recv();
            // It fails only if something else has waited for the child.
            if let Ok(status) = child.wait() {
                interrupts.send(Interrupt::CommandExited(status));
            }
        };
        std::thread::Builder::new().name("command".into()).spawn(run).context(what)?;
        let tid = tid.recv().context(what)?;
        Ok(Self { tid, commands, started, permission })
    }

    /// The number of the thread.
    pub(super) fn tid(&self) -> u32 {
        self.tid
    }

    /// Starts the command. The kernel gives its number to no other process before [`Launcher::permit_wait`].
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn spawn(&self, command: Command) -> io::Result<u32> {
        let gone = |_| io::Error::other("the thread for the command is gone");
        self.commands.send(command).map_err(|_| io::Error::other("there is a command already"))?;
        self.started.recv().map_err(gone)?
    }

    /// Lets the thread wait for the end of the command, after which the number of the command may be another's.
    pub(super) fn permit_wait(&self) {
        // It fails if the command was not started.
        let _ = self.permission.send(());
    }
}

fn split(spawned: io::Result<Child>) -> (Option<Child>, io::Result<u32>) {
    match spawned {
        Ok(child) => {
            let id = child.id();
            (Some(child), Ok(id))
        }
        Err(error) => (None, Err(error)),
    }
}
