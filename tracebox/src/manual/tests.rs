use super::*;

#[test]
fn every_option_is_in_its_page() {
    for page in pages::all(tracebox()) {
        let (name, command) = (page.name, page.command.clone());
        let text = page.render().replace("\\-", "-");
        for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
            let Some(long) = option.get_long() else { continue };
            assert!(text.contains(&format!("--{long}")), "{name}: --{long}\n{text}");
        }
        for title in ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\"", "\"SEE ALSO\""] {
            assert!(text.contains(&format!(".SH {title}\n")), "{name}: {title}\n{text}");
        }
    }
}

#[test]
fn pages_name_every_exit_code() {
    let perfetto =
        pages::all(tracebox()).into_iter().find(|page| page.name == "perfetto").unwrap().render();
    for code in [0, 1, 2, crate::failure::EXIT_LOST, crate::failure::EXIT_INTERRUPTED] {
        assert!(perfetto.contains(&format!("\\fB{code}\\fR")), "{code}\n{perfetto}");
    }
}

#[test]
fn the_page_of_the_probes_names_all_data_sources() {
    let pages = pages::all(tracebox());
    let page = pages.into_iter().find(|page| page.name == "traced_probes").unwrap().render();
    for name in tracing_probes::NAMES {
        assert!(page.contains(name), "{name}\n{page}");
    }
}

/// Who wonders why a program does not find its service, or where a file comes from, finds it here.
#[test]
fn pages_name_variables_and_files() {
    let text = |name: &str| {
        let page = pages::all(tracebox()).into_iter().find(|page| page.name == name).unwrap();
        page.render().replace("\\-", "-").replace("\\fR", "").replace("\\fI", "")
    };
    let traced = text("traced");
    for name in ["PERFETTO_MACHINE_NAME", "XDG_RUNTIME_DIR", "LISTEN_FDNAMES", "SOCKET.lock"] {
        assert!(traced.contains(name), "{name}\n{traced}");
    }
    assert!(text("traced_probes").contains("/run/tracing-probes/"));
    // Units name pages that exist.
    let units = text("tracebox-install-units");
    for file in ["traced.service", "traced-probes.service", "traced-producer.socket"] {
        assert!(units.contains(file), "{file}\n{units}");
    }
}

#[test]
fn every_program_has_a_page_and_completions() {
    let pages: Vec<_> = pages::all(tracebox()).iter().map(|page| page.name).collect();
    for mut command in programs() {
        let name = command.get_name().to_owned();
        assert!(pages.contains(&name.as_str()), "{name}");
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let mut script = Vec::new();
            generate(shell, &mut command, name.clone(), &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("version"), "{name} for {shell}");
        }
    }
    for applet in ["record", "trace", "completions", "man", "perfetto"] {
        let tracebox = tracebox();
        assert!(tracebox.get_subcommands().any(|command| command.get_name() == applet), "{applet}");
    }
}

#[test]
fn what_has_no_page_or_completions_is_not_called_unknown() {
    // Both are programs of tracebox, which --help lists.
    let error = man("man", &["completions".into()]).unwrap_err().text;
    let begin = "there is no manual page of \"completions\", only of tracebox, perfetto,";
    assert!(error.starts_with(begin), "{error}");
    let error = completions("completions", &["bash".into(), "record".into()]).unwrap_err().text;
    let names = "tracebox, perfetto, trigger_perfetto, traced, traced_probes";
    assert_eq!(error, format!("there are no completions of \"record\", only of {names}"));
}

#[test]
fn declarations_make_sense() {
    for command in programs() {
        command.debug_assert();
    }
}

#[test]
fn marks_of_bold_text_are_not_printed() {
    for page in pages::all(tracebox()) {
        let name = page.name;
        let text = page.render().replace("\\*(Aq", "'");
        let marked = text.lines().find(|line| line.contains('*'));
        assert_eq!(marked, None, "{name}");
    }
}
