//! Apps drawn as text, for tests of executors: screens as outlines, and a harness that walks them.
//!
//! ```text
//! == home /home "Home"
//! link "Cart" -> cart
//! list "Products"
//!   listitem
//!     link "Mug" -> mug
//!     button "Add" ! "Mug is in your cart"
//!
//! == cart /cart "Your cart"
//! …
//! ```
//! `->` leads to a screen by a tap, Enter or a choice; `!` shows a status. `use NAME` puts the lines
//! of a fragment (`== NAME` without address) in place. Attributes: `value= placeholder= desc= testid=
//! level= options="a|b" href=`; flags: `disabled checked secure offscreen clickable`.

mod harness;
mod parse;

pub(super) use harness::FakeHarness;
pub(super) use parse::App;
