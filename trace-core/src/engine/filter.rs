//! Selects the ops that a session records.

use std::time::Duration;

/// The ops that a session records: by name, module and duration. Without a filter it records all of them.
///
/// ```
/// use std::time::Duration;
/// use trace_runtime::Filter;
///
/// let filter = Filter::new()
///     .only("Linear::*")
///     .only("matmul")
///     .without("*::norm")
///     .only_module("my_model::layers")
///     .min_duration(Duration::from_micros(5));
/// ```
///
/// An op is recorded if it fulfils all conditions: its name fits one of the patterns of [`only`](Self::only), if there
/// are any, and none of [`without`](Self::without); its module is in one of [`only_module`](Self::only_module), if
/// there are any, and in none of [`without_module`](Self::without_module); and it takes long enough.
///
/// In a pattern `*` matches any text, also none; everything else must be equal to the whole name of the op. The module
/// of an op is the one in which the annotated function or the `op!` is written, as `module_path!` names it. A pattern
/// for modules also fits the modules inside: `my_model::layers` fits `my_model::layers::attention`, but not
/// `my_model::layers2`.
///
/// An op that is left out costs a few nanoseconds; the parent of an op inside it is the next op around it. Ops that
/// code begins by hand on a `TraceRecorder` have no module and are filtered by duration only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Filter {
    only: Vec<String>,
    without: Vec<String>,
    only_modules: Vec<String>,
    without_modules: Vec<String>,
    min_ns: u64,
}

impl Filter {
    /// Records everything.
    pub const fn new() -> Filter {
        Filter {
            only: Vec::new(),
            without: Vec::new(),
            only_modules: Vec::new(),
            without_modules: Vec::new(),
            min_ns: 0,
        }
    }

    /// Records only ops whose name fits this pattern. If it is called several times, one of the patterns must fit.
    pub fn only(mut self, pattern: impl Into<String>) -> Filter {
        self.only.push(pattern.into());
        self
    }

    /// Leaves out ops whose name fits this pattern.
    pub fn without(mut self, pattern: impl Into<String>) -> Filter {
        self.without.push(pattern.into());
        self
    }

    /// Records only ops of modules that fit this pattern. If it is called several times, one of the patterns must fit.
    pub fn only_module(mut self, pattern: impl Into<String>) -> Filter {
        self.only_modules.push(pattern.into());
        self
    }

    /// Leaves out ops of modules that fit this pattern.
    pub fn without_module(mut self, pattern: impl Into<String>) -> Filter {
        self.without_modules.push(pattern.into());
        self
    }

    /// Leaves out executions that are shorter. They are measured, and counted in the trace's `filtered_out`.
    pub fn min_duration(mut self, duration: Duration) -> Filter {
        self.min_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self
    }

    /// Reads `Linear::*,matmul,!*::norm,module=net::layers,!module=net::debug,min=5us`: patterns of ops and modules to
    /// record, `!` before a pattern to leave out, and a duration in `ns`, `us`, `ms` or `s`. `None` for anything else:
    /// an empty part, a key other than `module` and `min`, a module that is not a path.
    pub fn parse(text: &str) -> Option<Filter> {
        let mut filter = Filter::new();
        for part in text.split(',').map(str::trim) {
            let (leave_out, part) = match part.strip_prefix('!') {
                Some(part) => (true, part),
                None => (false, part),
            };
            filter = match (part.split_once('='), leave_out) {
                (Some(("min", duration)), false) => filter.min_duration(parse_duration(duration)?),
                (Some(("module", pattern)), false) => filter.only_module(module_pattern(pattern)?),
                (Some(("module", pattern)), true) => {
                    filter.without_module(module_pattern(pattern)?)
                }
                (None, false) if !part.is_empty() => filter.only(part),
                (None, true) if !part.is_empty() => filter.without(part),
                _ => return None,
            };
        }
        Some(filter)
    }

    /// True if ops of this name in this module are recorded.
    pub(crate) fn keeps(&self, name: &str, module: &str) -> bool {
        let fits_name = |pattern: &String| fits(pattern, name);
        let fits_module = |pattern: &String| contains(pattern, module);
        let is_among = |only: &[String], fits: &dyn Fn(&String) -> bool| {
            only.is_empty() || only.iter().any(fits)
        };
        is_among(&self.only, &fits_name)
            && is_among(&self.only_modules, &fits_module)
            && !self.without.iter().any(fits_name)
            && !self.without_modules.iter().any(fits_module)
    }

    pub(crate) fn min_ns(&self) -> u64 {
        self.min_ns
    }
}

/// A path of identifiers in which `*` may take the place of any text.
fn module_pattern(text: &str) -> Option<&str> {
    let is_segment = |segment: &str| {
        let is_allowed = |c: char| c.is_alphanumeric() || c == '_' || c == '*';
        !segment.is_empty() && segment.chars().all(is_allowed)
    };
    text.split("::").all(is_segment).then_some(text)
}

/// True if a pattern fits the module, or a module that contains it.
fn contains(pattern: &str, module: &str) -> bool {
    let ends = module.match_indices("::").map(|(at, _)| at);
    ends.chain([module.len()])
        .any(|end| fits(pattern, &module[..end]))
}

fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ns" => Some(Duration::from_nanos(number)),
        "us" | "µs" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

/// True if the whole name fits a pattern in which `*` matches any text.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, name) in [
            ("matmul", "matmul"),
            ("*", ""),
            ("Linear::*", "Linear::forward"),
            ("*::forward", "Linear::forward"),
            ("L*::*d", "Linear::forward"),
            ("**", "x"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("matmul", "matmul2"),
            ("mat", "matmul"),
            ("a*a", "a"),
            ("Linear::*", "Conv::forward"),
            ("a*b*c", "acb"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_module_contains_the_modules_inside() {
        for (pattern, module) in [
            ("net", "net"),
            ("net", "net::layers::attn"),
            ("net::layers", "net::layers::attn"),
            ("net::*", "net::layers"),
            ("*::attn", "net::layers::attn::tests"),
            ("n*t", "net::layers"),
        ] {
            assert!(contains(pattern, module), "{pattern} {module}");
        }
        for (pattern, module) in [
            ("net::layers", "net"),
            ("net::layers", "net::layers2"),
            ("layers", "net::layers"),
            ("net", "network"),
            ("net", ""),
        ] {
            assert!(!contains(pattern, module), "{pattern} {module}");
        }
    }

    #[test]
    fn all_conditions_must_hold() {
        let filter = Filter::new()
            .only("mat*")
            .only("softmax")
            .only_module("net")
            .without_module("net::debug");
        assert!(filter.keeps("matmul", "net::layers"));
        assert!(filter.keeps("softmax", "net"));
        assert!(!filter.keeps("relu", "net"));
        assert!(!filter.keeps("matmul", "data"));
        assert!(!filter.keeps("matmul", "net::debug::print"));
        assert!(Filter::new().without_module("net").keeps("matmul", ""));
    }

    #[test]
    fn text_has_patterns_modules_and_a_duration() {
        let filter = Filter::parse("Linear::*, !*::norm ,module=net::*,!module=net::debug,min=5us");
        let expected = Filter::new()
            .only("Linear::*")
            .without("*::norm")
            .only_module("net::*")
            .without_module("net::debug")
            .min_duration(Duration::from_micros(5));
        assert_eq!(filter, Some(expected));
        for wrong in [
            "",
            "!",
            "a,,b",
            "min=5",
            "min=us",
            "min=-1s",
            "!min=5us",
            "module=",
            "!module=",
            "module=my-crate",
            "module=net::",
            "module=::net",
            "module=net:layers",
            "modul=net",
            "max=5us",
        ] {
            assert_eq!(Filter::parse(wrong), None, "{wrong}");
        }
    }
}
