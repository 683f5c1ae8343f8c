//! Draws a sample.

use super::columns::{SortBy, cells, columns, thread_line};
use super::keys::Choices;
use super::sample::Sample;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use trace_runtime::report::display_width;

/// The smallest width of the name, before columns of numbers are left out.
const NAME: u16 = 16;
const GAP: u16 = 2;
/// The open ops of threads take at most one part in this many of the screen.
const THREADS: u16 = 3;

pub(super) fn draw(frame: &mut Frame<'_>, name: &str, sample: &Sample, choices: &mut Choices) {
    let area = frame.area();
    let threads = (sample.threads.len() as u16).min(area.height / THREADS);
    let [head, ops, now, help] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(1),
        Constraint::Length(threads),
        Constraint::Length(1),
    ])
    .areas(area);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let lines = vec![
        Line::styled(name.to_owned(), bold),
        Line::raw(sample.headline()),
    ];
    frame.render_widget(Paragraph::new(lines), head);
    draw_ops(frame, ops, sample, choices);
    let lines: Vec<Line<'_>> = sample
        .threads
        .iter()
        .take(usize::from(threads))
        .map(|thread| Line::raw(thread_line(thread)))
        .collect();
    frame.render_widget(Paragraph::new(lines), now);
    let state = if choices.is_paused {
        "paused, p resumes"
    } else {
        "p pauses"
    };
    let text = format!(
        "q quits  s sorts: {}  {state}  ↑↓ scroll",
        choices.sort.title()
    );
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Paragraph::new(Line::styled(text, dim)), help);
}

fn draw_ops(frame: &mut Frame<'_>, area: Rect, sample: &Sample, choices: &mut Choices) {
    let visible = usize::from(area.height.saturating_sub(1)).max(1);
    choices.first = choices.first.min(sample.ops.len().saturating_sub(visible));
    let rows: Vec<[String; 10]> = sample
        .ops
        .iter()
        .skip(choices.first)
        .take(visible)
        .map(cells)
        .collect();
    let columns = columns();
    let widths: Vec<u16> = (0..columns.len())
        .map(|column| {
            let cells = rows.iter().map(|row| display_width(&row[column]));
            let widest = cells.chain([columns[column].title.len()]).max();
            u16::try_from(widest.unwrap_or(0)).unwrap_or(u16::MAX)
        })
        .collect();
    // Columns with the largest rank are left out until the name has room.
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    let numbers = |shown: &[usize]| -> u16 {
        let widths = shown[1..]
            .iter()
            .map(|column| widths[*column].saturating_add(GAP));
        widths.fold(0, u16::saturating_add)
    };
    while shown.len() > 1 && numbers(&shown).saturating_add(NAME) > area.width {
        let last = (1..shown.len()).max_by_key(|at| (columns[shown[*at]].rank, *at));
        shown.remove(last.unwrap_or(1));
    }
    let name = area.width.saturating_sub(numbers(&shown));
    let constraints = shown.iter().map(|column| match column {
        0 => Constraint::Length(name),
        column => Constraint::Length(widths[*column]),
    });
    let align = |column: usize| match column {
        0 => Alignment::Left,
        _ => Alignment::Right,
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let header = shown.iter().map(|&column| {
        let title = columns[column].title;
        let mut style = bold;
        if title == choices.sort.title() {
            style = style.add_modifier(Modifier::REVERSED);
        }
        Cell::new(Text::raw(title).alignment(align(column)).style(style))
    });
    let body = rows.iter().map(|row| {
        let cells = shown
            .iter()
            .map(|&column| Cell::new(Text::raw(row[column].as_str()).alignment(align(column))));
        Row::new(cells)
    });
    let table = Table::new(body, constraints)
        .header(Row::new(header))
        .column_spacing(GAP);
    frame.render_widget(table, area);
}

/// Sorts the ops of a sample, which are in the order of the recording.
pub(super) fn sorted(mut sample: Sample, by: SortBy) -> Sample {
    sample.sort(by);
    sample
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Life, OpSample};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use trace_runtime::read::LiveOp;

    fn op(name: &str, calls: u64, self_ns: u64) -> OpSample {
        let mut op = LiveOp::default();
        name.clone_into(&mut op.operation);
        op.calls = calls;
        op.self_ns = self_ns;
        op.total_ns = 2 * self_ns;
        OpSample {
            op,
            calls_per_s: calls as f64,
            busy: self_ns as f64 / 1e9,
        }
    }

    fn sample() -> Sample {
        Sample {
            ops: vec![
                op("add", 5000, 20_000_000),
                op("matmul\u{1b}[2J", 30, 700_000_000),
            ],
            threads: Vec::new(),
            life: Life::Recording,
            behind: 0,
            pid: 77,
            elapsed_ns: 2_000_000_000,
            ended: 5030,
            ended_per_s: 2515.0,
            dropped: 3,
            lost: 0,
        }
    }

    fn drawn(width: u16, height: u16, sort: SortBy) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        let sample = sorted(sample(), sort);
        terminal
            .draw(|frame| draw(frame, "run.optrace", &sample, &mut Choices::new(sort)))
            .expect("drawn");
        let buffer = terminal.backend().buffer();
        (0..height)
            .map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect())
            .collect()
    }

    #[test]
    fn ops_are_sorted_and_names_are_harmless() {
        let lines = drawn(110, 10, SortBy::Busy);
        assert!(lines[0].starts_with("run.optrace"));
        assert!(
            lines[1].contains("process 77") && lines[1].contains("5,030 ops"),
            "{lines:?}"
        );
        assert!(lines[1].contains("3 not recorded: no room"), "{lines:?}");
        assert!(
            lines[2].contains("calls/s") && lines[2].contains("waiting"),
            "{lines:?}"
        );
        assert!(
            lines[3].starts_with("matmul") && !lines[3].contains('\u{1b}'),
            "{lines:?}"
        );
        assert!(
            lines[4].starts_with("add") && lines[4].contains("5,000"),
            "{lines:?}"
        );
        assert!(lines[9].starts_with("q quits  s sorts: busy"), "{lines:?}");
        let by_calls = drawn(110, 10, SortBy::Calls);
        assert!(by_calls[3].starts_with("add"), "{by_calls:?}");
    }

    #[test]
    fn any_size_of_the_terminal_is_drawn() {
        for (width, height) in [(1, 1), (5, 2), (20, 4), (40, 24), (300, 3), (80, 200)] {
            let lines = drawn(width, height, SortBy::Busy);
            assert_eq!(lines.len(), usize::from(height));
        }
        let narrow = drawn(44, 8, SortBy::Busy);
        assert!(
            narrow[2].contains("busy") && !narrow[2].contains("max"),
            "{narrow:?}"
        );
    }
}
