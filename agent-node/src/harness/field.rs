//! Whether a field may take a secret, beyond what any typing needs: whose document it is in, whether
//! a person would see it, whether it is the only one of its kind. Pure.

use muster_engine::Node;
use muster_proto::guard::Guard;
use url::Url;

use super::authorize::refused;
use super::observation::called;
use super::{Denied, Observation, location};

/// Allows the fill of the secret `name` or names the rule that forbids it.
pub(super) fn takes(
    name: &str,
    field: &Node,
    on: &Observation,
    origins: &[String],
    app: &Url,
) -> Result<(), Denied> {
    let refuse = |guard, why: String| {
        let what = called(field);
        Err(refused(
            guard,
            format!("secret {name:?} refused: {what}: {why}"),
        ))
    };
    let origin = field.frame_origin.clone();
    let origin = origin.unwrap_or_else(|| location::origin(&on.location, app));
    if Guard::SecretOrigin.holds() && !origins.contains(&origin) {
        return refuse(
            Guard::SecretOrigin,
            format!(
                "its document is of {origin} and the secret is for {}; \
                 if that is right, add it to secrets.{name}.origins",
                origins.join(", ")
            ),
        );
    }
    if let Some(why) = field
        .concealed
        .as_ref()
        .filter(|_| Guard::SecretVisible.holds())
    {
        return refuse(Guard::SecretVisible, why.clone());
    }
    let twins = on.nodes().iter().filter(|other| twin(field, other)).count();
    if Guard::SecretUnique.holds() && twins > 0 {
        return refuse(
            Guard::SecretUnique,
            format!("{twins} more fields look the same or ask for the same; which is meant?"),
        );
    }
    Ok(())
}

/// Whether two fields can't be told apart by what they ask for. A new password is asked for twice
/// by honest pages.
fn twin(field: &Node, other: &Node) -> bool {
    let same_name = other.role == field.role
        && other.states.secure == field.states.secure
        && other.name.eq_ignore_ascii_case(&field.name);
    let same_purpose = field
        .purpose
        .as_deref()
        .is_some_and(|purpose| purpose != "new-password" && other.purpose == field.purpose);
    other.id != field.id && other.editable && (same_name || same_purpose)
}

#[cfg(test)]
mod tests {
    use muster_engine::{NodeId, Snapshot, States};

    use super::*;

    fn field(id: u64, name: &str) -> Node {
        Node {
            id: NodeId(id),
            role: "textbox".to_owned(),
            name: name.to_owned(),
            editable: true,
            states: States {
                secure: true,
                ..States::default()
            },
            ..Node::default()
        }
    }

    fn check(nodes: Vec<Node>) -> Option<Guard> {
        check_at("/login", nodes)
    }

    fn check_at(location: &str, nodes: Vec<Node>) -> Option<Guard> {
        let on = Observation {
            revision: 1,
            location: location.to_owned(),
            notes: Vec::new(),
            snapshot: Snapshot {
                nodes,
                ..Snapshot::default()
            },
        };
        let origins = ["http://shop.test".to_owned()];
        let app = Url::parse("http://shop.test/").unwrap();
        takes("pw", &on.nodes()[0], &on, &origins, &app)
            .err()
            .and_then(|denied| denied.guard)
    }

    #[test]
    fn one_visible_field_of_the_right_document_takes_a_secret() {
        assert_eq!(check(vec![field(1, "Password"), field(2, "Repeat")]), None);
        let framed = |origin: &str| Node {
            frame_origin: Some(origin.to_owned()),
            ..field(1, "Password")
        };
        assert_eq!(check(vec![framed("http://shop.test")]), None);
        for origin in ["http://evil.test", "http://shop.test:81", "null"] {
            assert_eq!(check(vec![framed(origin)]), Some(Guard::SecretOrigin));
        }
        let away = vec![field(1, "Password")];
        assert_eq!(
            check_at("http://evil.test/login", away),
            Some(Guard::SecretOrigin)
        );
        let concealed = Node {
            concealed: Some("it is transparent".to_owned()),
            ..field(1, "Password")
        };
        assert_eq!(check(vec![concealed]), Some(Guard::SecretVisible));
    }

    #[test]
    fn a_field_that_exists_twice_takes_none() {
        let twice = vec![field(1, "Password"), field(2, "password")];
        assert_eq!(check(twice), Some(Guard::SecretUnique));
        let purpose = |id, name, purpose: &str| Node {
            purpose: Some(purpose.to_owned()),
            ..field(id, name)
        };
        let mirrored = |word| vec![purpose(1, "Password", word), purpose(2, "Mirror", word)];
        assert_eq!(
            check(mirrored("current-password")),
            Some(Guard::SecretUnique)
        );
        assert_eq!(check(mirrored("new-password")), None);
    }
}
