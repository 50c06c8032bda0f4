//! `make bench-redact`: how fast texts without values and with few go through the redactor, on one
//! core. Counted in the thread's own CPU time, so that a busy machine doesn't change the figure much;
//! the load is printed beside it.

use std::collections::BTreeMap;
use std::process::ExitCode;

use muster_proto::secret::Secret;
use muster_redact::Redactor;

/// What is promised, megabytes a second.
const PROMISED: f64 = 500.0;

/// How many secrets are known.
const SECRETS: u64 = 100;

/// Bytes of a sample.
const SAMPLE: usize = 8 << 20;

/// How often it is redacted; the best counts, as what disturbs only slows.
const ROUNDS: usize = 15;

/// The same numbers on every machine (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).expect("below a usize")
    }

    fn of(&mut self, letters: &str, length: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..length)
            .map(|_| letters[self.below(letters.len())])
            .collect()
    }
}

fn secrets(numbers: &mut Numbers) -> BTreeMap<String, Secret> {
    let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_!&/+ ";
    (0..SECRETS)
        .map(|which| {
            let length = 8 + numbers.below(33);
            (
                format!("secret{which}"),
                Secret::new(numbers.of(letters, length)),
            )
        })
        .collect()
}

const WORDS: &str = "the order was placed on your account and we will send it to you as soon as the \
    payment clears Überweisung für größere Beträge naïve café résumé проверка заказа 注文 確認 total \
    shipping address password button link heading checkout basket remove quantity";

/// Screens, JSON, addresses, logs, prose and base64 in turn, with a value now and then.
fn sample(numbers: &mut Numbers, values: &BTreeMap<String, Secret>) -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let values: Vec<&Secret> = values.values().collect();
    let mut text = String::with_capacity(SAMPLE + 4096);
    let mut line = 0u64;
    while text.len() < SAMPLE {
        let phrase = (0..4 + numbers.below(12))
            .map(|_| words[numbers.below(words.len())])
            .collect::<Vec<_>>()
            .join(" ");
        let id = numbers.below(1 << 30);
        line += 1;
        match line % 6 {
            0 => text += &format!(" #n{id} button \"{phrase}\" testid=\"pay-{id}\" [focused]\n"),
            1 => {
                text += &format!(
                    "{{\"id\":{id},\"note\":\"{phrase}\",\"path\":\"C:\\\\tmp\\\\{id}\"}}\n"
                )
            }
            2 => {
                text += &format!(
                    "https://shop.example/item/{id}?q={}&page=2#top\n",
                    phrase.replace(' ', "%20")
                )
            }
            3 => text += &format!("2026-01-02T03:04:05.678Z INFO node{{slot={id:x}}}: {phrase}\n"),
            4 => text += &format!("<p class=\"x-{id}\">{phrase} &amp; more&#39;s</p>\n"),
            _ => {
                let length = 20 + numbers.below(60);
                text += &numbers.of(
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
                    length,
                );
                text.push('\n');
            }
        }
        if line.is_multiple_of(500) {
            text += values[numbers.below(values.len())].expose();
            text.push('\n');
        }
    }
    text
}

/// CPU time of this thread, seconds, as the kernel tells it.
fn cpu() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = told
        .split(' ')
        .next()
        .and_then(|first| first.parse::<f64>().ok());
    nanos.map_or(f64::NAN, |nanos| nanos / 1e9)
}

fn main() -> ExitCode {
    let mut numbers = Numbers(0x5eed_0fa1_1ab1_e000);
    let values = secrets(&mut numbers);
    let text = sample(&mut numbers, &values);
    let began = cpu();
    let redactor = Redactor::new(&values);
    let (known, forms) = redactor.size();
    let built = cpu() - began;
    let mut best = 0.0f64;
    let mut markers = 0;
    for _ in 0..ROUNDS {
        let began = cpu();
        let clean = redactor.text(&text);
        let took = cpu() - began;
        markers = clean.matches("<secret:").count();
        best = best.max(text.len() as f64 / 1e6 / took);
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    println!(
        "redactor: {best:.0} MB/s a core ({PROMISED:.0} promised), {known} secrets in {forms} forms, \
         {:.1} MB of mixed text with {markers} values; built in {:.1} ms; load average {load}",
        text.len() as f64 / 1e6,
        built * 1e3,
    );
    // Not a number, where the kernel tells no CPU time, is no success either.
    if best >= PROMISED && markers > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
