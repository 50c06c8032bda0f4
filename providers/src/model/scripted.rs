//! A model that says what a test wrote.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::{ModelClient, ModelError, ModelInfo, ModelReply, ModelRequest};

/// Answers with its replies, each once and in order, and keeps what it was asked.
#[derive(Default)]
pub struct ScriptedModel {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    replies: VecDeque<ModelReply>,
    requests: Vec<ModelRequest>,
}

impl ScriptedModel {
    /// With its replies.
    pub fn new(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        let replies = replies.into_iter().collect();
        Self {
            state: Mutex::new(State {
                replies,
                requests: Vec::new(),
            }),
        }
    }

    /// What it was asked so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ModelClient for ScriptedModel {
    async fn complete(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let mut state = self.state();
        state.requests.push(request.clone());
        state
            .replies
            .pop_front()
            .ok_or_else(|| ModelError::ProviderFailed {
                model: self.info().model,
                requests: 1,
                reason: "the script has no reply left".to_owned(),
            })
    }

    fn info(&self) -> ModelInfo {
        ModelInfo {
            provider: "scripted",
            model: "scripted".to_owned(),
            vision: false,
        }
    }
}
