//! A choice as an action, if all of it was offered.

use muster_engine::NodeId;
use muster_proto::action::{Action, Typed};

use super::request::{Do, Offered, Operation, Request, Row};

/// The row of a choice. The error says why it can't be done.
pub(super) fn row(request: &Request, chosen: Do) -> Result<&Row, &'static str> {
    chosen
        .row
        .and_then(|index| request.rows.get(index))
        .filter(|row| row.offers(chosen.operation))
        .ok_or("it chose an element that doesn't take the operation")
}

/// The action and a line about it. `written` is what a text model gave for it.
pub(super) fn compile(
    request: &Request,
    chosen: Do,
    written: Option<String>,
) -> Result<(Action<NodeId>, String), &'static str> {
    if chosen.operation == Operation::Back {
        return Ok((Action::Back {}, "go back".to_owned()));
    }
    let row = row(request, chosen)?;
    let value = chosen.value.and_then(|index| request.values.get(index));
    let target = row.id;
    let it = row.describe();
    Ok(match chosen.operation {
        Operation::Tap => (Action::Tap { target }, format!("tap {it}")),
        Operation::Type => {
            let offered = || value.and_then(Offered::text).map(str::to_owned);
            let text = written.or_else(offered).ok_or("it chose no text to type")?;
            let line = format!("type {text:?} into {it}");
            let value = Typed::Literal { text };
            (
                Action::Type {
                    target,
                    value,
                    replace: true,
                },
                line,
            )
        }
        Operation::TypeSecret => {
            let Some(Offered::Secret { name, .. }) = value else {
                return Err("it chose no secret to type");
            };
            let line = format!("type secret {name:?} into {it}");
            let value = Typed::Secret { name: name.clone() };
            (
                Action::Type {
                    target,
                    value,
                    replace: true,
                },
                line,
            )
        }
        Operation::Submit => (
            Action::Press {
                times: 1,
                target: Some(target),
                key: "Enter".to_owned(),
            },
            format!("press Enter on {it}"),
        ),
        Operation::Select => {
            let label = chosen.option.and_then(|index| row.options.get(index));
            let label = label.ok_or("it chose no option")?.clone();
            let line = format!("select {label:?} in {it}");
            (Action::Select { target, label }, line)
        }
        Operation::Check | Operation::Uncheck => {
            let checked = chosen.operation == Operation::Check;
            let verb = if checked { "check" } else { "uncheck" };
            (Action::Check { target, checked }, format!("{verb} {it}"))
        }
        Operation::ScrollTo => (Action::ScrollTo { target }, format!("scroll to {it}")),
        Operation::Back => (Action::Back {}, "go back".to_owned()),
    })
}
