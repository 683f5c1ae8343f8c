//! The terminal: enters its second screen, runs the loop, and restores the terminal, even after an error or a signal.

use super::columns::SortBy;
use super::keys::{Choices, Next};
use super::sample::{Sample, Sampler};
use super::screen::{draw, sorted};
use crate::failure::Failure;
use crossterm::event::{self, Event};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{self, Stdout};
use std::sync::Once;
use std::time::{Duration, Instant};

/// The longest time between two checks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// Shows samples until the user quits or a signal arrives.
pub(super) fn run(
    sampler: Sampler,
    name: &str,
    every: Duration,
    sort: SortBy,
) -> Result<(), Failure> {
    let signals = signals::Signals::watch().map_err(|error| failed(&error))?;
    let signal = {
        let mut screen = Screen::enter().map_err(|error| failed(&error))?;
        show(&mut screen.terminal, sampler, name, every, sort, &signals)?
    };
    // The terminal is restored before this. The exit status of this process is that of the signal.
    signal.map_or(Ok(()), |signal| {
        signals::end_by(signal).map_err(|error| failed(&error))
    })
}

fn failed(error: &io::Error) -> Failure {
    Failure::Message(format!("the terminal cannot be used: {error}"))
}

fn show(
    terminal: &mut Terminal<CrosstermBackend<Stdout>>,
    mut sampler: Sampler,
    name: &str,
    every: Duration,
    sort: SortBy,
    signals: &signals::Signals,
) -> Result<Option<i32>, Failure> {
    let mut choices = Choices::new(sort);
    let mut sample: Sample = sampler.take()?;
    sampler.begin_interval();
    let mut last = Instant::now();
    let mut is_new = true;
    loop {
        if is_new {
            let shown = sorted(sample.clone(), choices.sort);
            let drawn = terminal.draw(|frame| draw(frame, name, &shown, &mut choices));
            drawn.map_err(|error| failed(&error))?;
            is_new = false;
        }
        if let Some(signal) = signals.arrived() {
            return Ok(Some(signal));
        }
        let wait = if sample.behind > 0 {
            Duration::ZERO
        } else {
            LOOK
        };
        if event::poll(wait).map_err(|error| failed(&error))? {
            is_new = true;
            if let Event::Key(key) = event::read().map_err(|error| failed(&error))?
                && choices.key(key) == Next::Quit
            {
                return Ok(None);
            }
        }
        let is_due = last.elapsed() >= every || sample.behind > 0;
        if is_due && !choices.is_paused {
            sample = sampler.take()?;
            if sample.behind == 0 {
                sampler.begin_interval();
            }
            last = Instant::now();
            is_new = true;
        }
    }
}

/// The terminal in its second screen and without echo. Dropping it restores the terminal.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn enter() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                // The screen is left before the message is printed: on the second screen, the message would disappear.
                leave();
                before(info);
            }));
        });
        enable_raw_mode()?;
        // From here on, the terminal is restored after an error too.
        let entered = execute!(io::stdout(), EnterAlternateScreen, cursor::Hide);
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        terminal
            .map(|terminal| Screen { terminal })
            .inspect_err(|_| leave())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// An error here means that the terminal does not exist any more, so it is ignored.
fn leave() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
}

#[cfg(unix)]
mod signals {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The latest signal that requests this process to end.
    pub(super) struct Signals(Arc<AtomicUsize>);

    impl Signals {
        pub(super) fn watch() -> io::Result<Signals> {
            let arrived = Arc::new(AtomicUsize::new(0));
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                let number = usize::try_from(signal).unwrap_or(0);
                signal_hook::flag::register_usize(signal, arrived.clone(), number)?;
            }
            Ok(Signals(arrived))
        }

        pub(super) fn arrived(&self) -> Option<i32> {
            match self.0.load(Ordering::Relaxed) {
                0 => None,
                signal => i32::try_from(signal).ok(),
            }
        }
    }

    /// Ends this process as the signal would have.
    pub(super) fn end_by(signal: i32) -> io::Result<()> {
        signal_hook::low_level::emulate_default_handler(signal)
    }
}

#[cfg(not(unix))]
mod signals {
    use std::io;

    pub(super) struct Signals;

    impl Signals {
        pub(super) fn watch() -> io::Result<Signals> {
            Ok(Signals)
        }

        pub(super) fn arrived(&self) -> Option<i32> {
            None
        }
    }

    pub(super) fn end_by(_signal: i32) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs a terminal: scripts/terminal.sh runs it in one"]
    #[should_panic(expected = "a panic in the second screen")]
    fn a_panic_leaves_the_terminal() {
        let _screen = Screen::enter().expect("a terminal");
        panic!("a panic in the second screen");
    }
}
