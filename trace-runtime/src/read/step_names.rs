//! Recognises annotations that mark a step of the program's loop, by their names.

/// A name that marks a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepName {
    pub(super) family: Family,
    /// None for `ProfilerStep*`, whose steps are counted instead.
    pub(super) number: Option<u64>,
}

/// Annotations that count the same loop. If a trace has several, the first one in this order marks its steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Family {
    /// `ProfilerStep#5` and `ProfilerStep*` of `torch.profiler`.
    Profiler,
    /// An annotation with the argument `step_num`: JAX's `StepTraceAnnotation`.
    Argument,
    /// The text before the number: `step `, `iteration #`.
    Words(String),
    /// Rows named by a number in the row `Steps` of a device of XLA.
    Device,
}

/// The words that mark a step when a number follows, in lower case and without spaces or underscores.
const WORDS: [&str; 8] = [
    "step",
    "iteration",
    "iter",
    "trainstep",
    "trainingstep",
    "trainiteration",
    "trainingiteration",
    "globalstep",
];

impl StepName {
    /// Reads a name: `ProfilerStep#5`, or one of the known words, a separator (one of `#:=_-`, or spaces) and a decimal
    /// number. `None` for everything else, such as `Optimizer.step#SGD.step` or `step`.
    pub(super) fn of(name: &str) -> Option<StepName> {
        if let Some(rest) = name.strip_prefix("ProfilerStep") {
            let number = match rest {
                "*" => None,
                _ => Some(decimal(rest.strip_prefix('#')?)?),
            };
            let family = Family::Profiler;
            return Some(StepName { family, number });
        }
        let end = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (words, number) = name.split_at(end);
        let number = decimal(number)?;
        let separators = ['#', ':', '=', '_', '-', ' '];
        let word = words.trim_end_matches(separators);
        // `step 5`, `step#5` and `Step #5`, but not `step5` and `step#-5`.
        let separator = &words[word.len()..];
        if separator.is_empty() || separator.trim_matches(' ').len() > 1 {
            return None;
        }
        let plain: String = word
            .chars()
            .filter(|c| !matches!(c, ' ' | '_'))
            .map(|c| c.to_ascii_lowercase())
            .collect();
        WORDS.contains(&plain.as_str()).then(|| StepName {
            family: Family::Words(words.to_owned()),
            number: Some(number),
        })
    }
}

/// Digits only: no sign, no spaces.
fn decimal(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `None` if the name is not that of a step; a step may have no number.
    #[allow(clippy::option_option, reason = "both can be missing")]
    fn number(name: &str) -> Option<Option<u64>> {
        StepName::of(name).map(|step| step.number)
    }

    #[test]
    fn annotations_of_steps_are_recognised() {
        for name in [
            "ProfilerStep#7",
            "step#7",
            "Step 7",
            "iteration 7",
            "Iteration: 7",
            "iter_7",
            "train_step 7",
            "Training Step #7",
            "step=7",
        ] {
            assert_eq!(number(name), Some(Some(7)), "{name}");
        }
        assert_eq!(number("ProfilerStep*"), Some(None));
    }

    #[test]
    fn ops_with_similar_names_stay_ops() {
        for name in [
            "step",
            "step7",
            "7",
            "",
            "step#",
            "step#-7",
            "step#7a",
            "ProfilerStep",
            "ProfilerStep#",
            "ProfilerStep7",
            "ProfilerStep#x",
            "Optimizer.step#SGD.step",
            "Optimizer.step#7",
            "substep 7",
            "batch 7",
            "stage 7",
            "step 99999999999999999999999",
        ] {
            assert_eq!(number(name), None, "{name}");
        }
    }
}
