//! Ids are newtypes, so that a unit's id can't be passed where a node's is meant.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

id!(
    /// One submitted run: a UUIDv7.
    RunId
);
id!(
    /// A test: `<relative file>::<percent-encoded title>::…` (RFC 3986 unreserved bytes kept).
    TestId
);
id!(
    /// One expected result: lower-case hex SHA-256 over the canonical JSON of
    /// test, target, agent and repeat.
    UnitId
);
id!(
    /// One running node process: its name and a random suffix that is new at every start.
    NodeId
);
id!(
    /// A blob's name: lower-case hex SHA-256 of its bytes.
    BlobDigest
);
id!(
    /// A recording's name: lower-case hex SHA-256 over the canonical JSON of what it depends on.
    ReplayKey
);

impl RunId {
    /// A new id, ordered by time of creation.
    pub fn generate() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }
}

impl NodeId {
    /// The node's name, the same after a restart: the id without its suffix (`-` and eight hex
    /// digits). An id of another form is its own name.
    pub fn name(&self) -> &str {
        match self.0.rsplit_once('-') {
            Some((name, suffix)) if suffix.len() == 8 && suffix.bytes().all(|b| b.is_ascii_hexdigit()) => name,
            _ => &self.0,
        }
    }
}

impl BlobDigest {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crate::canonical::sha256_hex(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_keeps_its_name_when_it_starts_again() {
        assert_eq!(NodeId::from("node-1-0af39b21").name(), "node-1");
        assert_eq!(NodeId::from("node-1").name(), "node-1");
        assert_eq!(NodeId::from("box").name(), "box");
    }
}
