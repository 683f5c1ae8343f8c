//! The frames of a flame graph picture.

use super::device_time::is_accelerator;
use super::flamegraph::{Stacks, lines};
use super::short_name::ShortNames;
use crate::model::TraceView;

/// The rules for the names of frames. All traces in a picture use the same rules.
#[derive(Debug)]
pub(crate) struct FrameNames {
    names: ShortNames,
    /// True if there are accelerators: the picture then has a tower for each of them and one for the host.
    towers: bool,
}

impl FrameNames {
    pub(crate) fn of(traces: &[&dyn TraceView]) -> FrameNames {
        let views = || traces.iter().flat_map(|trace| trace.views());
        FrameNames {
            names: ShortNames::of(views().map(|view| view.operation())),
            towers: views().any(|view| is_accelerator(&view)),
        }
    }

    /// Stacks for a picture: with short names, and without roots that every stack has. Host ops in the tower of a
    /// device are marked.
    pub(crate) fn stacks(&self, trace: &dyn TraceView) -> String {
        let (stacks, keys) = Stacks::of(trace);
        let on_device = |device: Option<&str>| device.is_some_and(|device| device != "cpu");
        let frames: Vec<String> = keys
            .iter()
            .map(|frame| {
                let name = self.names.get(frame.operation);
                match frame.label {
                    Some(label) => drawable(&format!("{name} {label}")),
                    None => drawable(name),
                }
            })
            .collect();
        lines(&stacks, |node| {
            let device = keys[node.group as usize].device;
            let mut parts: Vec<String> = Vec::new();
            if self.towers {
                parts.push(drawable(
                    device.filter(|_| on_device(device)).unwrap_or("host"),
                ));
            }
            for outer in stacks.path(node) {
                let frame = &frames[outer.group as usize];
                let host = !on_device(keys[outer.group as usize].device);
                parts.push(if on_device(device) && host {
                    format!("{frame} (host)")
                } else {
                    frame.clone()
                });
            }
            parts.join(";")
        })
    }
}

/// The name without the characters that end a frame or a line of collapsed stacks.
fn drawable(name: &str) -> String {
    let plain = name
        .chars()
        .map(|c| match c {
            ';' => ',',
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => ' ',
            c => c,
        })
        .collect::<String>();
    if plain.trim().is_empty() {
        return "(no name)".to_owned();
    }
    plain
}
