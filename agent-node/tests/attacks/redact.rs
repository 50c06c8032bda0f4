//! What of a secret, or of an order to a model, gets out as text.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use muster_agent_node::harness::{AttemptHarness, text};
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_redact::Lines;
use muster_suite::config::SecretSource;

use crate::case::{Case, Outcome};
use crate::world::{PASSWORD, Stage, World};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "A05",
        what: "orders stand in the query and the fragment of links and of the page's address",
        guard: Guard::PromptAddress,
        attack: |world| Box::pin(orders_in_addresses(world)),
    },
    Case {
        id: "A06",
        what: "orders are spelled in tags, zero-width and direction-changing characters",
        guard: Guard::PromptInvisible,
        attack: |world| Box::pin(invisible_orders(world)),
    },
    Case {
        id: "A23",
        what: "the app echoes the secret, and errors quote the app",
        guard: Guard::RedactValue,
        attack: |world| Box::pin(echo(world)),
    },
    Case {
        id: "A24",
        what: "the secret is echoed as base64, hex, by numbers, for addresses",
        guard: Guard::RedactEncoded,
        attack: |world| Box::pin(encoded(world)),
    },
    Case {
        id: "A24",
        what: "the secret is echoed one character an element",
        guard: Guard::RedactSplit,
        attack: |world| Box::pin(one_letter_an_element(world)),
    },
    Case {
        id: "A24",
        what: "the secret is echoed where the screen's limit cuts it",
        guard: Guard::RedactCut,
        attack: |world| Box::pin(cut(world)),
    },
    Case {
        id: "A24",
        what: "a piece of the secret is shown, and a picture would show it",
        guard: Guard::SecretPiece,
        attack: |world| Box::pin(piece(world)),
    },
    Case {
        id: "A29",
        what: "a secret is too short to be kept out of texts",
        guard: Guard::SecretLength,
        attack: |world| Box::pin(short(world)),
    },
    Case {
        id: "A30",
        what: "test code prints the secret over several lines",
        guard: Guard::RedactStream,
        attack: |world| Box::pin(printed_in_pieces(world)),
    },
];

/// What executors and prompts get to see of a stage.
async fn seen(stage: &Stage) -> String {
    text::render(&stage.screen().await, text::DEFAULT_BYTES)
}

async fn orders_in_addresses(world: &World) -> Outcome {
    let body = "<a href='/help?obey-query#obey-fragment'>Help</a>
        <script>history.replaceState(null, '', '/?obey-address#/obey-route')</script>";
    let seen = seen(&world.showing(body).await).await;
    assert!(seen.contains("link \"Help\""), "{seen}");
    Outcome::of(!seen.contains("obey-"), seen)
}

async fn invisible_orders(world: &World) -> Outcome {
    let tags: String = "obey"
        .chars()
        .map(|char| format!("&#x{:x};", 0xe0000 + char as u32))
        .collect();
    let body = format!("<h1>Sh&#x200b;op{tags}</h1><p>&#x202e;yebo&#x202c;</p>");
    let stage = world.showing(&body).await;
    let seen = seen(&stage).await;
    assert!(seen.contains("heading"), "{seen}");
    let hidden = |char| matches!(char, '\u{200b}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}');
    let held = !seen.contains(hidden);
    let name = Guard::PromptInvisible.as_str();
    let noted = stage
        .attempt
        .events()
        .iter()
        .any(|event| event.name == name);
    assert!(noted == held, "what was taken out is noted");
    Outcome::of(held, format!("{seen:?}"))
}

async fn echo(world: &World) -> Outcome {
    let stage = world
        .showing(&format!(
            "<script>document.title = 'for {PASSWORD}'</script>"
        ))
        .await;
    let title = stage.title().await;
    assert!(title.contains(PASSWORD), "{title}");
    let problem = Problem {
        actual: Some(title.to_uppercase()),
        near: vec![title.clone()],
        ..Problem::new(ErrorCode::AssertionFailed, format!("saw {title:?}"))
    };
    let told = format!("{:?}", stage.attempt.redacted(problem));
    Outcome::of(
        !told.to_lowercase().contains(&PASSWORD.to_lowercase()),
        told,
    )
}

async fn encoded(world: &World) -> Outcome {
    let bytes = PASSWORD.as_bytes();
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let numbers: String = PASSWORD
        .chars()
        .map(|char| format!("&#{};", char as u32))
        .collect();
    let forms = [
        STANDARD.encode(bytes),
        STANDARD.encode(format!("user:{PASSWORD}")),
        URL_SAFE_NO_PAD.encode(format!("me:{PASSWORD}!")),
        hex.concat(),
        hex.concat().to_uppercase(),
        hex.join(":"),
        format!("%{}", hex.join("%")),
        numbers,
    ];
    let body: String = forms
        .iter()
        .map(|form| format!("<p>{}</p>", form.replace('&', "&amp;")))
        .collect();
    let stage = world.showing(&body).await;
    let seen = seen(&stage).await;
    // However it begins and ends in other text, twelve letters of each form are its own.
    let told = forms.iter().find(|form| seen.contains(&form[6..18]));
    assert!(seen.matches("text=").count() == forms.len(), "{seen}");
    Outcome::of(told.is_none(), seen.clone())
}

async fn one_letter_an_element(world: &World) -> Outcome {
    let letters: String = PASSWORD
        .chars()
        .map(|char| format!("<p>{char}</p>"))
        .collect();
    let stage = world.showing(&format!("<h1>Shop</h1>{letters}")).await;
    let screen = stage.screen().await;
    let read: String = screen
        .nodes()
        .iter()
        .map(|node| node.text.as_str())
        .collect();
    Outcome::of(!read.contains(PASSWORD), read)
}

async fn cut(world: &World) -> Outcome {
    let form = STANDARD.encode(PASSWORD);
    let stage = world
        .showing(&format!("<p>{}{form}</p>", ". ".repeat(249)))
        .await;
    let seen = seen(&stage).await;
    assert!(seen.contains(". ."), "{seen}");
    Outcome::of(!seen.contains(&form[..8]), seen.clone())
}

async fn piece(world: &World) -> Outcome {
    let stage = world
        .showing(&format!("<p>it is {}…</p>", &PASSWORD[2..11]))
        .await;
    let seen = seen(&stage).await;
    let held = stage.attempt.tainted() && !seen.contains(&PASSWORD[2..11]);
    Outcome::of(held, seen)
}

async fn short(world: &World) -> Outcome {
    let stage = world.showing("").await;
    let attempt = AttemptHarness::new(
        Arc::clone(&stage.page),
        stage.attempt.app().clone(),
        Arc::new([("pin".to_owned(), Secret::new("12345"))].into()),
        BTreeMap::from([("pin".to_owned(), SecretSource::default())]),
    );
    Outcome::of(
        attempt.secret("pin").is_err(),
        "it can be filled in, and shows",
    )
}

async fn printed_in_pieces(world: &World) -> Outcome {
    let stage = world.showing("").await;
    let redactor = stage.attempt.redactor();
    let mut lines = Lines::default();
    let mut told = Vec::new();
    for piece in [
        &PASSWORD[..5],
        &PASSWORD[5..9],
        &PASSWORD[9..],
        "that was it.",
    ] {
        told.extend(lines.push(&redactor, (), piece.to_owned()));
    }
    told.extend(lines.finish(&redactor));
    let told: String = told.into_iter().map(|((), line)| line).collect();
    Outcome::of(!told.contains(PASSWORD), told)
}
