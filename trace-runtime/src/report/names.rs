//! Names are hostile text: what they may do to a terminal, and how wide they are.

/// A name that does nothing but show: control characters, invisible and direction-changing ones are
/// written as `\u{…}`.
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

/// How many columns a text takes in a terminal: two for East Asian wide characters and emoji, none for
/// marks that combine with the character before them.
///
/// Measured by blocks rather than by the full tables of Unicode: right for the scripts and symbols that
/// turn up in names, at worst a column off elsewhere.
pub fn display_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

pub(super) fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36F
        | 0x483..=0x489
        | 0x591..=0x5BD
        | 0x610..=0x61A
        | 0x64B..=0x65F
        | 0x93C
        | 0x941..=0x948
        | 0x94D
        | 0xE31
        | 0xE34..=0xE3A
        | 0xE47..=0xE4E
        | 0x1AB0..=0x1AFF
        | 0x1DC0..=0x1DFF
        | 0x20D0..=0x20FF
        | 0x302A..=0x302D
        | 0x3099..=0x309A
        | 0xFE00..=0xFE0F
        | 0xFE20..=0xFE2F
        | 0x1F3FB..=0x1F3FF => 0,
        0x1100..=0x115E
        | 0x231A..=0x231B
        | 0x23E9..=0x23EC
        | 0x25FD..=0x25FE
        | 0x2614..=0x2615
        | 0x2648..=0x2653
        | 0x26A1
        | 0x26BD..=0x26BE
        | 0x2705
        | 0x270A..=0x270B
        | 0x2728
        | 0x274C
        | 0x2753..=0x2755
        | 0x2757
        | 0x2795..=0x2797
        | 0x2B1B..=0x2B1C
        | 0x2B50
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xA960..=0xA97F
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF01..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1B000..=0x1B2FF
        | 0x1F004
        | 0x1F0CF
        | 0x1F18E
        | 0x1F191..=0x1F19A
        | 0x1F200..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F7E0..=0x1F7EB
        | 0x1F900..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// As much of a printable text as fits into `width` columns, with `…` where something is missing.
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
    }

    #[test]
    fn nothing_hostile_gets_through() {
        let name = "a\u{1b}]0;x\u{7}\nb\u{202e}c\u{200b}\u{9b}31m";
        let shown = printable(name);
        assert!(shown.chars().all(|c| !is_hostile(c)), "{shown}");
        assert_eq!(printable("行列積 × é"), "行列積 × é");
    }

    #[test]
    fn cut_text_never_exceeds_its_width() {
        for width in 0..8 {
            assert!(display_width(&fit("行列積op", width)) <= width);
        }
        assert_eq!(fit("matmul", 4), "mat…");
        assert_eq!(fit("matmul", 6), "matmul");
    }
}
