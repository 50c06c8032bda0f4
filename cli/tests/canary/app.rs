//! A hostile little app: whatever is typed into its password field stands all over the page.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

/// What it says; `canary` stands for nothing here: the value comes from the field.
const PAGE: &str = r#"<!doctype html><meta charset=utf-8><title>Canary</title>
<h1>Sign in</h1>
<label>Password <input id=pw type=password></label><button id=send>Send</button>
<div id=out></div>
<script>
const utf8 = (text) => [...new TextEncoder().encode(text)];
const binary = (text) => String.fromCharCode(...utf8(text));
const attribute = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
pw.oninput = () => {
  const value = pw.value, hex = utf8(value).map((byte) => byte.toString(16).padStart(2, '0')).join('');
  document.title = value;
  history.replaceState(null, '', '?q=' + encodeURIComponent(value) + '#/' + encodeURIComponent(value));
  localStorage.setItem('pw', value);
  console.log(value);
  const says = { plain: value, upper: value.toUpperCase(), lower: value.toLowerCase(), nfd: value.normalize('NFD'),
    base64: btoa(binary(value)), shifted: btoa('x' + binary(value) + 'yz'), hex, upperhex: hex.toUpperCase(),
    percent: encodeURIComponent(value), json: JSON.stringify({ pw: value }), html: attribute(value),
    csv: value.replaceAll('"', '""'), spaced: [...value].join(' ') };
  let html = '<h2>' + attribute(value) + '</h2>';
  for (const [name, text] of Object.entries(says)) html += '<p data-testid="' + name + '">' + attribute(text) + '</p>';
  const quoted = attribute(value);
  html += `<button aria-label="${quoted}" title="${quoted}">x</button><input placeholder="${quoted}" data-testid="${quoted}">`
    + `<div role=slider aria-valuetext="${quoted}" aria-valuenow=1 tabindex=0></div>`
    + `<a href="/?q=${attribute(encodeURIComponent(value))}">link</a><img alt="${quoted}" id="${quoted}">`
    + `<select><option>${quoted}</option></select><table><tr><td>${quoted}</td></tr></table>`
    + '<p>' + [...value].map((char) => '<span>' + attribute(char) + '</span>').join('') + '</p>';
  out.innerHTML = html;
};
</script>"#;

/// Serves the app for as long as the test's process lives; yields its address.
pub(crate) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || answer(client));
        }
    });
    address
}

fn answer(mut client: TcpStream) {
    let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
    while lines
        .next()
        .and_then(Result::ok)
        .is_some_and(|line| !line.is_empty())
    {}
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{PAGE}",
        PAGE.len()
    );
    // A browser that hung up needs no answer.
    let _ = client.write_all(answer.as_bytes());
}
