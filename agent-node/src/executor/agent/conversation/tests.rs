use muster_providers::model::TokenUsage;
use proptest::prelude::*;

use super::*;

fn fence() -> Fence {
    Fence::of("0a1b2c3d".to_owned())
}

fn started() -> Conversation {
    Conversation::new(fence(), "Goal: pay".to_owned(), "screen 0".to_owned())
}

fn call(number: usize) -> ToolCall {
    ToolCall {
        id: format!("c{number}"),
        name: "tap".to_owned(),
        input: format!("{{\"target\":\"n{number}\"}}"),
    }
}

/// One round with a call for each answer.
fn round(conversation: &mut Conversation, number: usize, answers: &[(Told, String)]) {
    let calls: Vec<ToolCall> = (0..answers.len())
        .map(|at| call(number * 10 + at))
        .collect();
    conversation.said(&ModelReply {
        text: String::new(),
        calls: calls.clone(),
        usage: Some(TokenUsage::default()),
        requests: 1,
        ..ModelReply::default()
    });
    for (call, (told, text)) in calls.iter().zip(answers) {
        conversation.answer(call, *told, text.clone());
    }
}

fn texts(conversation: &Conversation) -> Vec<String> {
    let texts = conversation
        .messages()
        .into_iter()
        .map(|message| match message {
            Message::User { text, .. } | Message::ToolResult { text, .. } => text,
            Message::Assistant { calls, .. } => format!("{calls:?}"),
        });
    texts.collect()
}

#[test]
fn outdated_screens_stay_until_a_batch_is_due() {
    let mut talk = started();
    let screen = |number: usize| format!("screen {number} {}", "x".repeat(350));
    for number in 1..=3 {
        round(&mut talk, number, &[(Told::Screen, screen(number))]);
        talk.tidy(0);
        assert!(texts(&talk).contains(&screen(1)), "{number}");
    }
    round(&mut talk, 4, &[(Told::Screen, screen(4))]);
    talk.tidy(0);
    let left = texts(&talk);
    for number in 1..=3 {
        assert!(!left.contains(&screen(number)), "{number}");
    }
    assert_eq!(left.last(), Some(&screen(4)));
}

#[test]
fn three_outdated_pictures_go_and_the_newest_stays() {
    let mut talk = started();
    let image = Image {
        media_type: "image/png",
        bytes: b"png".as_slice().into(),
    };
    let pictures = |talk: &Conversation| {
        let all = talk.messages().into_iter();
        all.filter(|message| matches!(message, Message::User { images, .. } if !images.is_empty()))
            .count()
    };
    for (number, left) in [(1, 1), (2, 2), (3, 3), (4, 1)] {
        round(&mut talk, number, &[(Told::Line, "done".to_owned())]);
        talk.picture(image.clone());
        talk.tidy(0);
        assert_eq!(pictures(&talk), left, "{number}");
    }
}

#[test]
fn old_rounds_become_a_memory_with_hysteresis() {
    let mut talk = started();
    talk.keep("operator: use the other card");
    for number in 1..=18 {
        round(&mut talk, number, &[(Told::Line, format!("done {number}"))]);
        talk.tidy(0);
    }
    assert_eq!(talk.rounds(), 18);
    round(&mut talk, 19, &[(Told::Line, "done 19".to_owned())]);
    talk.tidy(0);
    assert_eq!(talk.rounds(), 4);
    let left = texts(&talk);
    assert_eq!(left[..2], ["Goal: pay", "operator: use the other card"]);
    assert!(
        left[2].contains("tap {\"target\":\"n150\"} -> done 15"),
        "{}",
        left[2]
    );
    assert!(!left[2].contains("done 16"), "said verbatim below");
    assert_eq!(left[3], "screen 0");
    // A request that stays over its tokens doesn't make a new memory each round.
    let before = texts(&talk);
    round(&mut talk, 20, &[(Told::Line, "done 20".to_owned())]);
    talk.tidy(1_000_000);
    assert_eq!(texts(&talk)[..before.len()], before);
}

#[test]
fn a_long_line_keeps_its_ends() {
    let mut talk = started();
    let line = format!("{}{}{}", "a".repeat(200), "b".repeat(500), "c".repeat(120));
    round(&mut talk, 1, &[(Told::Line, line)]);
    let expected = format!("{} … {}", "a".repeat(200), "c".repeat(120));
    assert_eq!(texts(&talk).pop(), Some(expected));
}

#[test]
fn shrinking_leaves_the_goal_a_memory_one_round_and_the_screen() {
    let mut talk = started();
    for number in 1..=3 {
        round(
            &mut talk,
            number,
            &[(Told::Screen, format!("screen {number}"))],
        );
    }
    talk.shrink("a small screen".to_owned());
    let left = texts(&talk);
    assert_eq!((left.len(), left[0].as_str()), (5, "Goal: pay"));
    assert_eq!(left[4], "a small screen");
    assert!(!left.contains(&"screen 3".to_owned()));
}

proptest! {
    #[test]
    fn calls_keep_answers_and_the_prefix_lasts_between_batches(
        rounds in prop::collection::vec(
            (prop::collection::vec((0..3u8, 0..20_000usize), 0..4), any::<bool>(), any::<bool>(), 0..30_000u64),
            1..40,
        )
    ) {
        let mut talk = started();
        let mut kept = vec!["Goal: pay".to_owned()];
        for (number, (answers, operator, picture, input)) in rounds.into_iter().enumerate() {
            let answers: Vec<(Told, String)> = answers.into_iter().map(|(told, size)| {
                let told = [Told::Line, Told::Part, Told::Screen][usize::from(told)];
                (told, format!("{number}\n{}", "y".repeat(size)))
            }).collect();
            let newest = answers.iter().rfind(|(told, _)| *told == Told::Screen).cloned();
            round(&mut talk, number, &answers);
            if picture {
                talk.picture(Image { media_type: "image/png", bytes: b"png".as_slice().into() });
            }
            if operator {
                kept.push(format!("operator {number}"));
                talk.keep(format!("operator {number}"));
            }
            let before = talk.messages();
            let (outdated, floor) = (talk.slots(|slot| slot == Slot::Outdated).len(), talk.floor);
            talk.tidy(input);
            let after = talk.messages();
            let batch = outdated != talk.slots(|slot| slot == Slot::Outdated).len() || floor != talk.floor;
            if !batch {
                prop_assert_eq!(&before, &after);
            }
            if let Some((_, text)) = newest {
                prop_assert!(texts(&talk).contains(&text));
            }
            // Answers follow their calls at once, in order, and there are no others.
            let mut open: Vec<String> = Vec::new();
            for message in &after {
                match message {
                    Message::ToolResult { call_id, .. } => {
                        prop_assert!(!open.is_empty());
                        prop_assert_eq!(&open.remove(0), call_id);
                    }
                    Message::Assistant { calls, .. } => {
                        prop_assert!(open.is_empty());
                        open = calls.iter().map(|call| call.id.clone()).collect();
                    }
                    Message::User { .. } => prop_assert!(open.is_empty()),
                }
            }
            prop_assert!(open.is_empty());
            let said: Vec<String> = texts(&talk).into_iter().filter(|text| kept.contains(text)).collect();
            prop_assert_eq!(&said, &kept);
        }
    }
}
