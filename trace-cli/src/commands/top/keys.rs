//! The keys and their effects.

use super::columns::SortBy;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The user's choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choices {
    pub(super) sort: SortBy,
    pub(super) is_paused: bool,
    /// The first op that is shown.
    pub(super) first: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    GoOn,
    Quit,
}

/// Number of ops by which a page moves.
const PAGE: usize = 10;

impl Choices {
    pub(super) fn new(sort: SortBy) -> Choices {
        Choices {
            sort,
            is_paused: false,
            first: 0,
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Next {
        if key.kind == KeyEventKind::Release {
            return Next::GoOn;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Next::Quit,
            KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
            KeyCode::Char('s') | KeyCode::Right => self.sort = self.sort.next(),
            KeyCode::Char('S') | KeyCode::Left => self.sort = self.sort.previous(),
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::Down => self.first += 1,
            KeyCode::PageUp => self.first = self.first.saturating_sub(PAGE),
            KeyCode::PageDown => self.first += PAGE,
            KeyCode::Home => self.first = 0,
            _ => {}
        }
        Next::GoOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_pause_scroll_and_quit() {
        let mut choices = Choices::new(SortBy::Busy);
        let mut press = |code| {
            let next = choices.key(KeyEvent::new(code, KeyModifiers::NONE));
            (next, choices)
        };
        assert_eq!(press(KeyCode::Char('s')).1.sort, SortBy::CallsPerSecond);
        assert_eq!(press(KeyCode::Char('S')).1.sort, SortBy::Busy);
        assert!(press(KeyCode::Char('p')).1.is_paused);
        assert!(!press(KeyCode::Char(' ')).1.is_paused);
        assert_eq!(press(KeyCode::PageDown).1.first, PAGE);
        assert_eq!(press(KeyCode::Up).1.first, PAGE - 1);
        assert_eq!(press(KeyCode::Home).1.first, 0);
        assert_eq!(press(KeyCode::Char('c')).0, Next::GoOn);
        assert_eq!(press(KeyCode::Char('q')).0, Next::Quit);
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(choices.key(control_c), Next::Quit);
    }
}
