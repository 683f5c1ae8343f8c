//! Names as safe text: characters that could change a terminal are escaped, and widths are measured.

pub use crate::printable::printable;
use std::collections::HashMap;
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

/// Cuts each text to `width` columns like [`fit`], but keeps different texts different. If two would become equal,
/// their middle is cut instead, up to the first difference. If that is not enough, they are numbered.
pub(super) fn fit_distinct(texts: &[&str], width: usize) -> Vec<String> {
    let mut cut: Vec<String> = texts.iter().map(|text| fit(text, width)).collect();
    let mut by_form: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, text) in texts.iter().enumerate() {
        if cut[index] != *text {
            by_form.entry(&cut[index]).or_default().push(index);
        }
    }
    let mut clashes: Vec<Vec<usize>> = by_form
        .into_values()
        .filter(|group| group.iter().any(|&one| texts[one] != texts[group[0]]))
        .collect();
    clashes.sort_unstable();
    for group in clashes {
        let same = group
            .iter()
            .map(|&one| common_prefix(texts[group[0]], texts[one]))
            .min()
            .unwrap_or(0);
        let head = width / 2;
        for &one in &group {
            let tail: String = texts[one].chars().skip(same).collect();
            cut[one] = format!("{}{}", fit(texts[one], head), fit(&tail, width - head));
        }
    }
    let mut seen: HashMap<String, &str> = HashMap::new();
    for (index, text) in texts.iter().enumerate() {
        let mut number = 2;
        while seen.get(&cut[index]).is_some_and(|other| other != text) {
            let suffix = format!("#{number}");
            let room = width.saturating_sub(suffix.len());
            cut[index] = fit(text, room) + &suffix;
            number += 1;
        }
        seen.insert(cut[index].clone(), text);
    }
    cut
}

/// Number of characters at the start that two texts share.
fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
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

    #[test]
    fn different_texts_stay_different() {
        let texts = [
            "elementwise_kernel<AddFunctor>",
            "elementwise_kernel<MulFunctor>",
            "elementwise_kernel<AddFunctor>",
            "short",
        ];
        let cut = fit_distinct(&texts, 16);
        assert_eq!(
            cut,
            [
                "element…AddFunc…",
                "element…MulFunc…",
                "element…AddFunc…",
                "short"
            ]
        );
        for width in 4..40 {
            let cut = fit_distinct(&texts, width);
            assert!(cut.iter().all(|one| display_width(one) <= width), "{cut:?}");
            assert!(cut[0] != cut[1] && cut[0] == cut[2], "{cut:?}");
        }
    }
}
