//! Names of ops, devices and files as safe text. Used by reports and exports; public as part of
//! [`report`](crate::report).

/// Escapes the characters of a name that could change a terminal or mislead a reader: control characters, invisible
/// characters, and characters that change the direction of text become `\u{…}`.
///
/// ```
/// use trace_runtime::report::printable;
/// assert_eq!(printable("red\u{1b}[31m"), "red\\u{1b}[31m");
/// ```
pub fn printable(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for c in name.chars() {
        if is_hostile(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            // Soft hyphen, Arabic letter mark, zero-width and direction marks, separators, overrides,
            // invisible operators, fillers, byte order mark, interlinear annotations, tags.
            0xAD | 0x61C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180E | 0x200B..=0x200F
                | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
                | 0xE0000..=0xE0FFF
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_characters_are_escaped() {
        let name = "a\u{1b}]0;x\u{7}\nb\u{202e}c\u{200b}\u{9b}31m";
        let shown = printable(name);
        assert!(shown.chars().all(|c| !is_hostile(c)), "{shown}");
        assert_eq!(printable("行列積 × é"), "行列積 × é");
    }
}
