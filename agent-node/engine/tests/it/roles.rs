//! Roles and states, as tables: markup and what it must be told as.

use std::collections::HashMap;

use muster_engine::{Node, States};

use crate::support::*;

/// Shows all markups on one page, `ID` replaced by a DOM id of its own, and yields the node of
/// each; none = not on the screen.
async fn told(markups: &[&str]) -> Vec<Option<Node>> {
    let body: Vec<String> = markups
        .iter()
        .enumerate()
        .map(|(at, markup)| markup.replace("ID", &format!("id=e{at}")))
        .collect();
    let stage = Stage::showing(&body.join("\n")).await;
    let snapshot = stage.snapshot().await;
    assert!(!snapshot.truncated);
    let mut nodes: HashMap<String, Node> = snapshot
        .nodes
        .into_iter()
        .map(|node| (node.dom_id.clone(), node))
        .collect();
    (0..markups.len())
        .map(|at| nodes.remove(&format!("e{at}")))
        .collect()
}

#[tokio::test]
async fn roles_follow_html_and_aria() {
    let table = [
        ("<a ID href=/x>x</a>", "link"),
        ("<a ID tabindex=0>x</a>", ""),
        ("<button ID>x</button>", "button"),
        ("<details><summary ID>x</summary></details>", "button"),
        ("<input ID>", "textbox"),
        ("<input ID type=email>", "textbox"),
        ("<input ID type=password>", "textbox"),
        ("<input ID type=date>", "textbox"),
        (
            "<input ID list=l><datalist id=l><option>1</datalist>",
            "combobox",
        ),
        ("<input ID type=search>", "searchbox"),
        ("<input ID type=number>", "spinbutton"),
        ("<input ID type=range>", "slider"),
        ("<input ID type=checkbox>", "checkbox"),
        ("<input ID type=checkbox role=switch>", "switch"),
        ("<input ID type=radio>", "radio"),
        ("<input ID type=submit>", "button"),
        ("<input ID type=file>", "button"),
        ("<textarea ID></textarea>", "textbox"),
        ("<div ID contenteditable>x</div>", "textbox"),
        ("<select ID><option>x</select>", "combobox"),
        ("<select ID multiple><option>x</select>", "listbox"),
        ("<h3 ID>x</h3>", "heading"),
        ("<img ID alt=x>", "image"),
        (
            "<svg ID><title>x</title><rect width=9 height=9 /></svg>",
            "image",
        ),
        ("<ul ID><li>x</ul>", "list"),
        ("<ol><li ID>x</ol>", "listitem"),
        ("<table ID><tr><td>x</table>", "table"),
        ("<table><tr ID><td>x</table>", "row"),
        ("<table><tr><td ID>x</table>", "cell"),
        ("<table role=grid><tr><td ID>x</table>", "gridcell"),
        ("<table><thead><tr><th ID>x</table>", "columnheader"),
        ("<table><tr><th ID>x<td>y</table>", "rowheader"),
        ("<nav ID>x</nav>", "navigation"),
        ("<main ID>x</main>", "main"),
        ("<header ID>x</header>", "banner"),
        ("<footer ID>x</footer>", "contentinfo"),
        ("<aside ID>x</aside>", "complementary"),
        ("<article><header ID>x</header></article>", ""),
        ("<article ID>x</article>", "article"),
        ("<section ID aria-label=n>x</section>", "region"),
        ("<form ID aria-label=n>x</form>", "form"),
        ("<fieldset ID><legend>n</legend></fieldset>", "group"),
        ("<figure ID>x</figure>", "figure"),
        ("<dialog ID open>x</dialog>", "dialog"),
        ("<output ID>x</output>", "status"),
        ("<progress ID value=.5></progress>", "progressbar"),
        ("<meter ID value=.5></meter>", "meter"),
        ("<hr ID>", "separator"),
        ("<div ID role=alert>x</div>", "alert"),
        ("<div ID role='nonsense tab'>x</div>", "tab"),
        ("<div ID role=img aria-label=n>x</div>", "image"),
        ("<button ID role=none>x</button>", "button"),
        ("<div ID role=log>x</div>", ""),
        ("<p ID>x</p>", ""),
    ];
    let markups: Vec<&str> = table.iter().map(|row| row.0).collect();
    let nodes = told(&markups).await;
    let wrong: Vec<String> = table
        .iter()
        .zip(&nodes)
        .filter(|((_, role), node)| node.as_ref().map(|node| node.role.as_str()) != Some(role))
        .map(|((markup, role), node)| {
            format!(
                "{markup}: {role:?}, got {:?}",
                node.as_ref().map(|node| &node.role)
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn hidden_and_meaningless_things_are_not_told() {
    let markups = [
        "<button ID hidden>x</button>",
        "<div style='display:none'><button ID>x</button></div>",
        "<button ID style='visibility:hidden'>x</button>",
        "<div aria-hidden=true><button ID>x</button></div>",
        "<div inert><button ID>x</button></div>",
        "<details><summary>s</summary><button ID>x</button></details>",
        "<div ID></div>",
        "<div ID><button>x</button></div>",
        "<img ID alt='' src='data:,'>",
        "<section ID>x</section><script ID>1</script><style ID></style>",
    ];
    for (markup, node) in markups.iter().zip(told(&markups).await) {
        let generic = node
            .as_ref()
            .is_some_and(|node| node.role.is_empty() && node.text == "x");
        assert!(node.is_none() || generic, "{markup}: {node:?}");
    }
}

#[tokio::test]
async fn states_follow_the_element_then_aria() {
    let on = Some(true);
    let off = Some(false);
    let none = States::default();
    let table = [
        (
            "<input ID type=checkbox checked>",
            States {
                checked: on,
                ..none
            },
        ),
        (
            "<input ID type=radio>",
            States {
                checked: off,
                ..none
            },
        ),
        (
            "<div ID role=checkbox aria-checked=mixed>x</div>",
            States {
                checked: off,
                ..none
            },
        ),
        (
            "<div ID role=switch aria-checked=true>x</div>",
            States {
                checked: on,
                ..none
            },
        ),
        (
            "<button ID disabled>x</button>",
            States {
                disabled: true,
                ..none
            },
        ),
        (
            "<fieldset disabled><input ID></fieldset>",
            States {
                disabled: true,
                ..none
            },
        ),
        (
            "<div aria-disabled=true><button ID>x</button></div>",
            States {
                disabled: true,
                ..none
            },
        ),
        (
            "<button ID aria-pressed=true>x</button>",
            States {
                pressed: on,
                ..none
            },
        ),
        (
            "<button ID aria-expanded=false>x</button>",
            States {
                expanded: off,
                ..none
            },
        ),
        (
            "<details open><summary ID>x</summary></details>",
            States {
                expanded: on,
                ..none
            },
        ),
        (
            "<div ID role=tab aria-selected=true>x</div>",
            States {
                selected: on,
                ..none
            },
        ),
        (
            "<input ID type=password>",
            States {
                secure: true,
                ..none
            },
        ),
        (
            "<input ID autocomplete=one-time-code>",
            States {
                secure: true,
                ..none
            },
        ),
        (
            "<input ID required aria-invalid=true>",
            States {
                required: true,
                invalid: true,
                ..none
            },
        ),
        (
            "<input ID readonly>",
            States {
                readonly: true,
                ..none
            },
        ),
        (
            "<input ID autofocus>",
            States {
                focused: true,
                ..none
            },
        ),
    ];
    let markups: Vec<&str> = table.iter().map(|row| row.0).collect();
    for ((markup, states), node) in table.iter().zip(told(&markups).await) {
        assert_eq!(
            &node
                .unwrap_or_else(|| panic!("{markup} is on the screen"))
                .states,
            states,
            "{markup}"
        );
    }
}

#[tokio::test]
async fn values_and_attributes_are_told() {
    let markups = [
        "<input ID value=' a  b ' placeholder='  Your  name '>",
        "<select ID><option value=1>One<option value=2 selected>  Two  </select>",
        "<input ID type=range min=0 max=10 value=4 aria-valuetext='4 stars'>",
        "<div ID contenteditable>Dear <b>Ada</b></div>",
        "<a ID href=/there data-testid=go>x</a>",
        "<h4 ID>x</h4><div role=heading aria-level=7>y</div>",
        "<button ID>A\u{200b}B \u{202e}C\u{200d}</button>",
        "<div ID role=combobox tabindex=0>Green</div>",
        "<button ID title=Tip aria-describedby=d>x</button><p id=d>Long  story</p>",
    ];
    let nodes = told(&markups).await;
    let node = |at: usize| nodes[at].as_ref().unwrap();
    assert_eq!(node(0).value.as_deref(), Some(" a  b "));
    assert_eq!(node(0).placeholder.as_deref(), Some("Your name"));
    assert!(node(0).editable);
    assert_eq!(
        (node(1).value.as_deref(), &node(1).options[..]),
        (Some("Two"), &["One".to_string(), "Two".into()][..])
    );
    assert_eq!(node(2).value.as_deref(), Some("4 stars"));
    assert_eq!(node(3).value.as_deref(), Some("Dear Ada"));
    assert!(node(4).href.as_ref().unwrap().ends_with("/there"));
    assert_eq!(node(4).test_id.as_deref(), Some("go"));
    assert_eq!(node(5).level, Some(4));
    assert_eq!(node(6).name, "AB C");
    assert_eq!(node(7).value.as_deref(), Some("Green"));
    assert_eq!(node(8).description, "Long story");
}
