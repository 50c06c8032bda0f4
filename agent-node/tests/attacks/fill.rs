//! Fields that want a secret which is not for them, and targets that change hands.

use muster_agent_node::harness::Harness as _;
use muster_engine::NodeId;
use muster_proto::action::{Action, Typed};
use muster_proto::guard::Guard;

use crate::case::{Case, Outcome};
use crate::world::{SOON, Site, Stage, World, id};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "A20",
        what: "an overlay slips under the pointer between check and click",
        guard: Guard::TargetHit,
        attack: |world| Box::pin(slipped_under(world)),
    },
    Case {
        id: "A21",
        what: "the app leads to a login form of another origin",
        guard: Guard::SecretOrigin,
        attack: |world| Box::pin(elsewhere(world)),
    },
    Case {
        id: "A21",
        what: "the password field turns out to show what is typed",
        guard: Guard::SecretPurpose,
        attack: |world| Box::pin(plain_text(world)),
    },
    Case {
        id: "A22",
        what: "a password field that nobody sees",
        guard: Guard::SecretVisible,
        attack: |world| Box::pin(unseen(world)),
    },
    Case {
        id: "A22",
        what: "the password field is there twice",
        guard: Guard::SecretUnique,
        attack: |world| Box::pin(mirrored(world)),
    },
    Case {
        id: "A28",
        what: "a secret that the step does not declare",
        guard: Guard::SecretFill,
        attack: |world| Box::pin(undeclared(world)),
    },
];

/// Tells in its title that something was typed into it.
const TAKES: &str = "oninput='document.title = \"took \" + value.length'";

async fn fill(stage: &Stage, field: NodeId, undeclared: bool) -> Outcome {
    let mut grant = stage.grant();
    if undeclared {
        grant.rules.secrets.clear();
    }
    let step = stage.step(grant);
    step.observe().await.unwrap();
    let value = Typed::Secret {
        name: "pw".to_owned(),
    };
    let filled = step
        .perform(Action::Type {
            target: field,
            value,
            replace: true,
        })
        .await;
    let title = stage.title().await;
    assert_eq!(
        filled.is_ok(),
        title.starts_with("took"),
        "{filled:?} {title}"
    );
    Outcome::of(filled.is_err(), title)
}

async fn slipped_under(world: &World) -> Outcome {
    let body =
        "<button style='position:fixed;left:40px;top:40px;width:200px;height:80px'>Keep</button>
        <script>
        addEventListener('mousemove', () => {
            if (document.getElementById('over')) return;
            const over = document.createElement('div');
            over.id = 'over';
            over.style = 'position:fixed;inset:0;z-index:9';
            over.onclick = () => { document.title = 'deleted'; };
            document.body.append(over);
        });
        </script>";
    let stage = world.showing(body).await;
    let step = stage.step(stage.grant());
    let keep = id(&step.observe().await.unwrap(), "button", "Keep");
    let tapped = step.perform(Action::Tap { target: keep }).await;
    let title = stage.title().await;
    Outcome::of(title != "deleted", format!("{title}, {tapped:?}"))
}

async fn elsewhere(world: &World) -> Outcome {
    let stage = world.showing("").await;
    let evil = Site::start().await;
    let form = format!("<input type=password aria-label=Password {TAKES}>");
    let there = evil.serve("/", form);
    stage.page.goto(&there, SOON).await.unwrap();
    let field = id(&stage.screen().await, "textbox", "Password");
    fill(&stage, field, false).await
}

async fn plain_text(world: &World) -> Outcome {
    let body = format!("<input aria-label=Password {TAKES}>");
    let stage = world.showing(&body).await;
    let field = id(&stage.screen().await, "textbox", "Password");
    fill(&stage, field, false).await
}

async fn unseen(world: &World) -> Outcome {
    let body = format!("<input type=password aria-label=Password style='opacity:0.01' {TAKES}>");
    let stage = world.showing(&body).await;
    let field = id(&stage.screen().await, "textbox", "Password");
    fill(&stage, field, false).await
}

async fn mirrored(world: &World) -> Outcome {
    let field = format!("<input type=password aria-label=Password {TAKES}>");
    let stage = world.showing(&format!("{field}<p>{field}")).await;
    let field = id(&stage.screen().await, "textbox", "Password");
    fill(&stage, field, false).await
}

async fn undeclared(world: &World) -> Outcome {
    let body = format!("<input type=password aria-label=Password {TAKES}>");
    let stage = world.showing(&body).await;
    let field = id(&stage.screen().await, "textbox", "Password");
    fill(&stage, field, true).await
}
