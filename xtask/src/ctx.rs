//! The repository's folder, starting programs, and their output.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What the workspace is linted, tested and built with: the command of the code generator and most of `tracing-sdk` are
/// behind features.
pub const FEATURES: [&str; 2] = [
    "--features",
    "pbzero-codegen/cli,pbzero-codegen/grpc,tracebox-sdk/derive,tracebox-sdk/in-process,tracebox-sdk/log,\
     tracebox-sdk/text,tracebox-sdk/tracing",
];

/// The result of a command: nothing, or one text for the terminal.
pub type Outcome = Result<(), String>;

/// The repository and the place for output: the terminal, or the log of one `ci` step.
pub struct Ctx {
    root: PathBuf,
    log: Option<File>,
    /// Why the step of `ci` could not run.
    not_run: OnceLock<String>,
}

impl Ctx {
    /// # Errors
    /// Not in a checkout of this repository.
    pub fn new() -> Result<Self, String> {
        // Set by cargo for `cargo run`; the manifest of xtask lies one folder below the root.
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().ok_or("xtask has no parent folder")?.to_path_buf();
        if !root.join("Cargo.toml").is_file() {
            return Err(format!("{} holds no workspace", root.display()));
        }
        Ok(Self { root, log: None, not_run: OnceLock::new() })
    }

    /// The same place, with all output to `log`.
    pub fn logged(&self, log: File) -> Self {
        Self { root: self.root.clone(), log: Some(log), not_run: OnceLock::new() }
    }

    /// Reports that the step of `ci` could not run.
    pub fn set_not_run(&self, reason: String) {
        // The first reason is the one to mend first.
        let _ = self.not_run.set(reason);
    }

    /// The reason, if it could not.
    pub fn not_run(&self) -> Option<&str> {
        self.not_run.get().map(String::as_str)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A folder below `target/`, made when missing.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn target(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.root.join("target").join(name);
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    /// One line to the terminal or the log.
    pub fn log(&self, line: impl std::fmt::Display) {
        match &self.log {
            // A message is not worth failing for; what follows would report a full disk.
            Some(log) => drop(writeln!(&mut &*log, "{line}")),
            None => println!("{line}"),
        }
    }

    /// `cargo`, in the root.
    pub fn cargo(&self) -> Command {
        self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// Builds all programs and examples as the tests do. The selection and features are the same in
    /// every command that uses `target/debug`, or the large schema would be built once for each.
    ///
    /// # Errors
    /// It does not compile.
    pub fn build_workspace(&self) -> Outcome {
        let mut command = self.cargo();
        self.run(command.args(["build", "--workspace", "--bins", "--examples"]).args(FEATURES))
    }

    /// A program, in the root, without the variables that `cargo run` set for xtask itself: they
    /// would make a second cargo rebuild what the first one built.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            if name_text.starts_with("CARGO_PKG_") || name_text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        if self.log.is_some() {
            // A step of `ci` builds everything once. To prepare for the next build takes cargo a fifth of its time,
            // and line tables another fifth; a failed test names its line without them.
            command.env("CARGO_INCREMENTAL", "0");
            for profile in ["DEV", "RELEASE"] {
                command.env(format!("CARGO_PROFILE_{profile}_DEBUG"), "0");
            }
        }
        command
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It cannot be started, or does not end well: the text names the command.
    pub fn run(&self, command: &mut Command) -> Outcome {
        let shown = show(command);
        self.log(format_args!("$ {shown}"));
        command.stdin(Stdio::null());
        if let Some(log) = &self.log {
            let clone = || log.try_clone().map_err(|e| format!("log: {e}"));
            command.stdout(clone()?).stderr(clone()?);
        }
        let status = command.status().map_err(|e| format!("cannot start `{shown}`: {e}"))?;
        if status.success() { Ok(()) } else { Err(format!("`{shown}`: {status}")) }
    }

    /// Runs it to its end and returns what it printed.
    ///
    /// # Errors
    /// As [`Ctx::run`], with what it complained about.
    pub fn output(&self, command: &mut Command) -> Result<String, String> {
        let shown = show(command);
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("cannot start `{shown}`: {e}"))?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`{shown}`: {}\n{}", output.status, complaint.trim_end()));
        }
        String::from_utf8(output.stdout).map_err(|e| format!("`{shown}`: {e}"))
    }
}

fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let mut shown = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        shown.push(' ');
        shown.push_str(&argument.to_string_lossy());
    }
    shown
}

/// Reads a text file; the error names it.
///
/// # Errors
/// It cannot be read or is no UTF-8.
pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}
