//! `perfetto`, and `tracebox` without a program name: the same command line, with the service of the
//! machine or with one of its own.

mod clones;
mod detached;
pub mod query;
mod record;

use std::ffi::OsString;

use tracing_core::client::consumer::Consumer;
use tracing_core::client::in_process::InProcessService;
use tracing_core::client::serve::service_config;

pub use self::record::open;
use crate::applet::Ending;
use crate::background;
use crate::cli::{self, Perfetto};
use crate::console;
use crate::failure::{Context, Failure};
use crate::plan::{self, Background, Plan, Record, Source, Who};
use crate::snapshots::Connect;
use crate::{VERSION, probes};

/// `perfetto`: through the service of the machine.
///
/// # Errors
/// One line.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    if words.is_empty() {
        return Err(Failure::new("say what to do (see --help)"));
    }
    run(name, words, Who::Perfetto)
}

/// `tracebox`: with a service of its own, unless `--system-sockets`.
///
/// # Errors
/// One line.
pub fn alone(name: &str, words: &[OsString]) -> Ending {
    run(name, words, Who::Tracebox)
}

fn run(name: &str, words: &[OsString], who: Who) -> Ending {
    let Some(args) = cli::parse::<Perfetto>(name, words)? else { return Ok(0) };
    let system = who == Who::Perfetto || args.system_sockets;
    if args.system_sockets && who == Who::Perfetto {
        return Err(Failure::new("--system-sockets is for tracebox: perfetto always uses them"));
    }
    let plan = plan::plan(args, who)?;
    if let (false, Plan::Record(plan)) = (system, &plan) {
        refuse_foreign_words(plan)?;
    }
    if !system && !matches!(plan, Plan::Version | Plan::ResetGuardrails | Plan::Record(_)) {
        return Err(Failure::new("this asks a running service: add --system-sockets"));
    }
    match plan {
        Plan::Version => {
            console::answer(VERSION)?;
            Ok(0)
        }
        Plan::ResetGuardrails => {
            console::say("There are no guardrails to reset");
            Ok(0)
        }
        Plan::Query(form) => query::run(&mut connect()?, form),
        Plan::IsDetached(key) => detached::is_detached(&key),
        Plan::Attach { key, stop, strict } => detached::attach(&key, stop, strict),
        Plan::Clone(plan) => clones::one(plan),
        Plan::Save(plan) => clones::save(plan),
        Plan::Record(plan) => {
            if plan.background != Background::No && !background::is_child() {
                return record::start_in_background(name, words, plan.background);
            }
            record::run(&plan, system)
        }
    }
}

/// Events and categories need a data source that is not built in. Nobody can bring it to a service of
/// our own, so the trace would have nothing of what was asked for.
fn refuse_foreign_words(plan: &Record) -> Result<(), Failure> {
    let Source::Light(light) = &plan.source else { return Ok(()) };
    let Some(word) = light.words.iter().chain(&light.apps).find(|&word| word != "disk") else {
        return Ok(());
    };
    Err(Failure::new(format_args!(
        "{word:?} is no program of tracebox, and as an event or category it needs linux.ftrace, \
         which is not built in (run traced and traced_probes, and add --system-sockets)"
    )))
}

fn connect() -> Result<Consumer, Failure> {
    Consumer::connect_default().map_err(Failure::new)
}

/// A consumer, and the service it belongs to if that is ours.
struct Service {
    consumer: Consumer,
    /// Held for their lives. Sources go before the service.
    own: Option<(probes::Sources, InProcessService)>,
}

impl Service {
    fn open(system: bool) -> Result<Self, Failure> {
        if system {
            return Ok(Self { consumer: connect()?, own: None });
        }
        let config = service_config(VERSION).context("cannot start the service")?;
        let service = InProcessService::start(config, console::own_service_log())
            .context("cannot start the service")?;
        let sources = probes::Sources::attach(service.producer())?;
        Ok(Self { consumer: service.consumer(), own: Some((sources, service)) })
    }
    /// Makes further connections to it.
    fn connector(&self) -> Connect {
        match &self.own {
            None => Box::new(connect),
            Some((_, service)) => {
                let handle = service.handle().clone();
                Box::new(move || Ok(handle.consumer()))
            }
        }
    }
}
