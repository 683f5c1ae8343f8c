//! An annotated function, as a static.

use crate::model::OpKind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// An annotated function: its name and kind, and the number it gets when it first records.
#[derive(Debug)]
pub struct Site {
    name: &'static str,
    kind: Option<OpKind>,
    /// 0 until registered.
    number: AtomicU32,
}

static SITES: Mutex<Vec<&'static Site>> = Mutex::new(Vec::new());

impl Site {
    /// A site of no stated kind.
    pub const fn new(name: &'static str) -> Site {
        Site {
            name,
            kind: None,
            number: AtomicU32::new(0),
        }
    }

    /// The same site, of this kind.
    #[must_use]
    pub const fn with_kind(self, kind: OpKind) -> Site {
        Site {
            name: self.name,
            kind: Some(kind),
            number: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn number(&'static self) -> u32 {
        match self.number.load(Ordering::Relaxed) {
            0 => self.register(),
            number => number,
        }
    }

    #[cold]
    #[inline(never)]
    fn register(&'static self) -> u32 {
        let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        // Two threads may come here at once; the second finds the first one's number.
        let known = self.number.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        sites.push(self);
        let number = sites.len() as u32;
        self.number.store(number, Ordering::Relaxed);
        number
    }

    /// The name and kind behind a number.
    pub(crate) fn by_number(number: u32) -> Option<(&'static str, Option<OpKind>)> {
        let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        let site = sites.get(number.checked_sub(1)? as usize)?;
        Some((site.name, site.kind))
    }
}
