//! Names as safe text: characters that could change a terminal are escaped, and widths are measured.

pub use crate::printable::printable;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Number of columns that a text takes in a terminal, by the tables of Unicode: 2 for East Asian wide
/// characters and emoji, 0 for marks that combine with the character before them.
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// An upper bound of the columns that a character adds to the text before it.
pub(super) fn char_width(c: char) -> usize {
    match c {
        // Selects the emoji form of the character before it, which may be one column wider.
        '\u{fe0f}' => 1,
        _ => c.width().unwrap_or(1),
    }
}

/// The start of a printable text that fits into `width` columns, with `…` if the rest is cut off.
pub(super) fn fit(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += char_width(c);
        if used > width {
            break;
        }
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_scripts_and_emoji() {
        assert_eq!(display_width("matmul"), 6);
        assert_eq!(display_width("行列積"), 6);
        assert_eq!(display_width("🔥op"), 4);
        assert_eq!(display_width("e\u{301}"), 1);
        assert_eq!(display_width("한글"), 4);
        // One family, joined from four people; a heart in its emoji form.
        assert_eq!(display_width("👨\u{200d}👩\u{200d}👧\u{200d}👦"), 2);
        assert_eq!(display_width("\u{2764}\u{fe0f}"), 2);
    }

    #[test]
    fn cut_text_never_exceeds_its_width() {
        for width in 0..8 {
            for text in [
                "行列積op",
                "\u{2764}\u{fe0f}\u{2764}\u{fe0f}op matmul",
                "e\u{301}e\u{301}",
            ] {
                assert!(display_width(&fit(text, width)) <= width, "{text} {width}");
            }
        }
        assert_eq!(fit("matmul", 4), "mat…");
        assert_eq!(fit("matmul", 6), "matmul");
    }
}
