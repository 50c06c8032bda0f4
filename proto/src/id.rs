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

impl BlobDigest {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crate::canonical::sha256_hex(bytes))
    }
}
