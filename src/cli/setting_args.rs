//! Command-line options for the settings of a run, generated from the table of settings.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use crate::run::{Given, SETTINGS, Setting};

/// Settings of a run that the user gives as command-line options.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingArgs {
    /// Parsed values of the settings that the user gives.
    pub given: Given,
}

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        SETTINGS.iter().map(option).fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        SettingArgs::augment_args(command)
    }
}

/// Settings of a run that also have a short option, as in launchers.
const LETTERS: [(&str, char); 1] = [("ranks", 'n')];

/// Settings of a run that only `--help` shows, not `-h`.
const SELDOM: [&str; 3] = ["memory_bound", "share_memory", "kernels"];

/// Returns the command-line option of a setting of a run.
fn option(setting: &'static Setting) -> Arg {
    let option = Arg::new(setting.key)
        .long(setting.option())
        .help(setting.help)
        .help_heading(setting.heading.text())
        .hide_short_help(SELDOM.contains(&setting.key));
    let letter = LETTERS.iter().find(|(key, _)| *key == setting.key);
    let option = letter.map_or(option.clone(), |(_, letter)| option.short(*letter));
    let option = match setting.name == setting.key {
        true => option,
        false => option.alias(setting.key.replace('_', "-")),
    };
    if setting.value.is_empty() {
        return option.action(ArgAction::SetTrue);
    }
    let option = option.action(ArgAction::Set).value_name(setting.value);
    if setting.is_path() {
        return option.value_parser(value_parser!(OsString));
    }
    let checked = move |text: &str| setting.set(&mut Given::default(), text).map(|()| text.to_owned());
    let option = option.value_parser(checked);
    // clap accepts a negative time, so that mcpsim's parser of times can report the error.
    if setting.value == "TIME" { option.allow_hyphen_values(true) } else { option.allow_negative_numbers(true) }
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = SettingArgs::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in SETTINGS {
            let text: Option<&OsStr> = match setting.value {
                "" => matches.get_flag(setting.key).then_some("".as_ref()),
                _ if setting.is_path() => matches.get_one::<OsString>(setting.key).map(OsString::as_os_str),
                _ => matches.get_one::<String>(setting.key).map(AsRef::as_ref),
            };
            if let Some(text) = text {
                let wrong = |what: String| clap::Error::raw(clap::error::ErrorKind::ValueValidation, what);
                setting.set(&mut self.given, text).map_err(wrong)?;
            }
        }
        Ok(())
    }
}
