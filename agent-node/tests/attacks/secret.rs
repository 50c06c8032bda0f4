//! Where a secret must not come.

use muster_agent_node::harness::Harness as _;
use muster_proto::guard::Guard;
use muster_proto::secret::Secret;

use crate::act::log_in;
use crate::case::{Case, Outcome};
use crate::world::{PASSWORD, World};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "A25",
        what: "the app paints the secret, and a picture is asked for",
        guard: Guard::PixelsTainted,
        attack: |world| Box::pin(painted(world)),
    },
    Case {
        id: "A31",
        what: "a panic message or a log prints a secret",
        guard: Guard::SecretSink,
        attack: |_| Box::pin(printed()),
    },
];

async fn painted(world: &World) -> Outcome {
    let body = "<input type=password aria-label=Password
        oninput='canvas.getContext(\"2d\").fillText(value, 9, 30)'><canvas id=canvas></canvas>";
    let stage = world.showing(body).await;
    let step = stage.step(stage.grant());
    log_in(&step).await;
    let picture = step.screenshot().await;
    if picture.is_err() {
        let name = Guard::PixelsTainted.as_str();
        let noted = step.events().iter().any(|event| event.name == name);
        assert!(noted, "a refusal is noted");
    }
    Outcome::of(picture.is_err(), "a picture was taken after the fill")
}

async fn printed() -> Outcome {
    let secret = Secret::new(PASSWORD);
    let told = format!("{secret} {secret:?} {:?}", Some(vec![&secret]));
    Outcome::of(!told.contains(PASSWORD), told)
}
