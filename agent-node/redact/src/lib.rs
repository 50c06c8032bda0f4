//! Takes secret values out of text: every known value, in every form that it may be written in,
//! becomes `<secret:name>`.
//!
//! Pure: no clock, no I/O, no page. [`Redactor`] is the whole of it; [`Stream`] is the same for text
//! that comes in pieces. [`forms`] lists the spellings, [`sieve`] makes looking for them fast. A new
//! spelling goes into `forms` and the property test there takes it in.

mod forms;
mod invisible;
mod redactor;
mod sieve;
mod spread;
mod stream;

pub use forms::MIN_LENGTH;
pub use invisible::visible;
pub use redactor::{Redactor, protectable};
pub use stream::Stream;
