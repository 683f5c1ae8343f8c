#![deny(unused_must_use)]

use trace_runtime::{Session, SessionError};

fn main() -> Result<(), SessionError> {
    Session::from_env()?;
    Session::start()?;
    Ok(())
}
